/* Lists whose elements lie on all ranks: order, iterators, splicing, sorting by a function that looks at the elements itself. */
#include "check.h"
#include <limits.h>

static uint64_t *mine;

static acp_element_t word(uint64_t value) {
    mine[0] = value;
    acp_element_t element = {starter(acp_rank(), 0), 8};
    return element;
}

static uint64_t value_of(acp_element_t element) {
    CHECK(element.size == 8);
    acp_complete(acp_copy(starter(acp_rank(), 8), element.ga, 8, ACP_HANDLE_NULL));
    return mine[1];
}

static int by_value(const acp_element_t one, const acp_element_t other) {
    uint64_t first = value_of(one), second = value_of(other);
    return first < second ? -1 : first > second;
}

static int without_order(const acp_element_t one, const acp_element_t other) {
    (void)one, (void)other;
    return 1;
}

static void check(acp_list_t list, const char *expected) {
    acp_list_it_t it = acp_begin(list, list);
    CHECK(acp_size(list, list) == strlen(expected) && acp_empty(list, list) == (*expected == 0));
    for (; *expected; expected++) {
        CHECK(it.elem != ACP_GA_NULL && it.elem != acp_end(list, list).elem);
        CHECK(value_of(acp_dereference(list_it, it)) == (uint64_t)*expected);
        it = acp_increment(list_it, it);
    }
    CHECK(it.elem == acp_end(list, list).elem);
}

static void fill(acp_list_t list, const char *values, int rank) {
    acp_clear(list, list);
    for (; *values; values++) {
        acp_push_back(list, list, word((uint64_t)*values), rank++ % acp_procs());
    }
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    mine = words_at(starter(rank, 0));
    acp_list_t one = acp_create(list, next), two = acp_create(list, rank);
    CHECK(one.ga && two.ga && acp_query_rank(one.ga) == next);
    check(one, "");
    fill(one, "bcd", rank);
    acp_push_front(list, one, word('a'), next);
    check(one, "abcd");
    CHECK(acp_query_rank(acp_begin(list, one).elem) == next);
    acp_list_it_t third = acp_advance(list_it, acp_begin(list, one), 2), end = acp_end(list, one);
    CHECK(value_of(acp_dereference(list_it, third)) == 'c' && acp_distance(list_it, acp_begin(list, one), third) == 2);
    /* Whole turns, of the elements and the end, are not walked. */
    int turn = (int)acp_size(list, one) + 1;
    CHECK(acp_advance(list_it, end, INT_MAX / turn * turn).elem == end.elem && acp_advance(list_it, end, -(INT_MAX / turn * turn) - 2).elem == third.elem);
    CHECK(acp_advance(list_it, end, -2).elem == third.elem && acp_decrement(list_it, third).elem == acp_advance(list_it, end, -3).elem);
    acp_list_it_t put = acp_insert(list, third, word('x'), rank);
    CHECK(value_of(acp_dereference(list_it, put)) == 'x');
    check(one, "abxcd");
    CHECK(acp_erase(list, put).elem == third.elem);
    check(one, "abcd");
    acp_pop_back(list, one);
    acp_pop_front(list, one);
    check(one, "bc");
    acp_pop_front(list, one);
    acp_pop_front(list, one);
    acp_pop_front(list, one);
    acp_pop_back(list, one);
    check(one, "");
    /* Ranges. */
    fill(one, "abcdef", rank);
    fill(two, "xyz", next);
    acp_list_it_t second = acp_advance(list_it, acp_begin(list, one), 1), fifth = acp_advance(list_it, second, 3);
    acp_insert_range(list, acp_advance(list_it, acp_begin(list, two), 1), second, fifth);
    check(two, "xbcdyz");
    check(one, "abcdef");
    CHECK(acp_erase_range(list, second, fifth).elem == fifth.elem);
    check(one, "aef");
    acp_assign_range(list, one, acp_begin(list, two), acp_advance(list_it, acp_begin(list, two), 3));
    check(one, "xbc");
    acp_assign(list, one, two);
    check(one, "xbcdyz");
    check(two, "xbcdyz");
    acp_swap(list, one, two);
    fill(one, "12", rank);
    /* Elements move from list to list, and inside one. */
    acp_list_it_t moved = acp_begin(list, two);
    acp_splice(list, acp_end(list, one), moved);
    check(one, "12x");
    check(two, "bcdyz");
    CHECK(value_of(acp_dereference(list_it, acp_advance(list_it, acp_end(list, one), -1))) == 'x');
    acp_splice_range_list(acp_begin(list, one), acp_begin(list, two), acp_advance(list_it, acp_begin(list, two), 2));
    check(one, "bc12x");
    check(two, "dyz");
    acp_splice(list, acp_begin(list, one), acp_advance(list_it, acp_end(list, one), -1));
    check(one, "xbc12");
    acp_reverse(list, one);
    check(one, "21cbx");
    /* Orders. */
    fill(one, "hbagcfedcb", rank);
    acp_sort(list, one, by_value);
    check(one, "abbccdefgh");
    acp_unique(list, one);
    check(one, "abcdefgh");
    fill(two, "aacfz", next);
    acp_merge(list, one, two, by_value);
    check(one, "aaabccdeffghz");
    check(two, "");
    acp_remove(list, one, word('a'));
    acp_remove(list, one, word('f'));
    check(one, "bccdeghz");
    acp_sort(list, one, without_order);
    CHECK(acp_size(list, one) == 8);
    /* Elements of all sizes. */
    acp_clear(list, two);
    for (size_t size = 0; size < 3000; size += 271) {
        memset(acp_query_address(starter(rank, 1024)), (int)(size & 0xff), size);
        acp_element_t element = {starter(rank, 1024), size};
        acp_push_back(list, two, element, (int)size % procs);
    }
    acp_list_it_t it = acp_begin(list, two);
    for (size_t size = 0; size < 3000; size += 271, it = acp_increment(list_it, it)) {
        acp_element_t element = acp_dereference(list_it, it);
        CHECK(element.size == size && acp_query_rank(it.elem) == (int)size % procs);
    }
    /* What cannot be. */
    acp_list_t none = {ACP_GA_NULL};
    CHECK(acp_begin(list, none).elem == ACP_GA_NULL && acp_size(list, none) == 0 && acp_create(list, procs).ga == ACP_GA_NULL);
    CHECK(acp_erase(list, acp_end(list, one)).elem == ACP_GA_NULL);
    CHECK(acp_dereference(list_it, acp_end(list, one)).ga == ACP_GA_NULL);
    acp_list_it_t wild = {one, 0xfedcba9876543210ull};
    CHECK(acp_insert(list, wild, word('q'), rank).elem == ACP_GA_NULL && acp_increment(list_it, wild).elem == ACP_GA_NULL);
    acp_destroy(list, one);
    acp_destroy(list, two);
    acp_destroy(list, two);
    acp_sync();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
