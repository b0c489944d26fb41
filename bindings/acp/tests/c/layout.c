/* The words of vectors, deques and lists as programs read them: by local pointers on the rank that has them, by copies from all others, beside
 * what the functions say. The argument is the number of ranks, which is not used. */
#include "check.h"

enum { ROUNDS = 16 };

static uint64_t state;

static uint64_t chance(uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

/* The bytes at an address of any rank, as a program without the data library would get them. */
static const void *look(acp_ga_t at, size_t size) {
    void *local = acp_query_address(at);
    if (local != NULL) {
        return local;
    }
    acp_complete(acp_copy(starter(acp_rank(), 8192), at, size, ACP_HANDLE_NULL));
    return acp_query_address(starter(acp_rank(), 8192));
}

static uint64_t word(acp_ga_t at, int index) {
    uint64_t found;
    memcpy(&found, look(at + 8 * (size_t)index, 8), 8);
    return found;
}

static acp_ga_t some(size_t size) {
    unsigned char *bytes = acp_query_address(starter(acp_rank(), 0));
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)chance(256);
    }
    return starter(acp_rank(), 0);
}

/* Vector: address of the bytes, size, capacity. */
static void check_vector(acp_vector_t vector, size_t size) {
    acp_ga_t bytes = word(vector.ga, 0);
    CHECK(word(vector.ga, 1) == size && acp_size(vector, vector) == size);
    CHECK(word(vector.ga, 2) == acp_capacity(vector, vector) && word(vector.ga, 2) >= size);
    CHECK((bytes == ACP_GA_NULL) == (word(vector.ga, 2) == 0));
    for (size_t index = 0; index < size; index += 1 + size / 3) {
        CHECK(acp_at(vector, vector, (int)index) == bytes + index);
        CHECK(acp_dereference(vector_it, acp_advance(vector_it, acp_begin(vector, vector), (int)index)) == bytes + index);
    }
}

static void use_vector(int owner) {
    acp_vector_t vector = acp_create(vector, 0, owner), other = acp_create(vector, 100, owner);
    size_t size = 0, other_size = 100;
    check_vector(vector, size);
    check_vector(other, other_size);
    for (int round = 0; round < ROUNDS; round++) {
        size_t added = chance(200), taken = chance(size + 1);
        acp_push_back(vector, vector, some(added), added);
        size += added;
        check_vector(vector, size);
        acp_erase(vector, acp_advance(vector_it, acp_begin(vector, vector), (int)chance(size - taken + 1)), taken);
        size -= taken;
        check_vector(vector, size);
        if (round % 8 == 7) {
            size_t aside = size;
            acp_swap(vector, vector, other);
            size = other_size, other_size = aside;
            check_vector(vector, size);
            check_vector(other, other_size);
        }
    }
    acp_assign(vector, vector, other);
    check_vector(vector, other_size);
    acp_reserve(vector, vector, 5000);
    check_vector(vector, other_size);
    acp_clear(vector, vector);
    check_vector(vector, 0);
    acp_destroy(vector, vector);
    acp_destroy(vector, other);
}

/* Deque: address of the bytes, offset of the first, size, capacity; what reaches past the capacity continues at the beginning. */
static void check_deque(acp_deque_t deque, size_t size) {
    acp_ga_t bytes = word(deque.ga, 0);
    uint64_t offset = word(deque.ga, 1), capacity = word(deque.ga, 3);
    CHECK(word(deque.ga, 2) == size && acp_size(deque, deque) == size);
    CHECK(capacity == acp_capacity(deque, deque) && capacity >= size);
    CHECK(offset < capacity || offset == 0);
    for (size_t index = 0; index < size; index += 1 + size / 3) {
        CHECK(acp_at(deque, deque, (int)index) == bytes + (offset + index) % capacity);
        acp_deque_it_t it = acp_advance(deque_it, acp_begin(deque, deque), (int)index);
        CHECK(acp_dereference(deque_it, it, 1).first.ga == bytes + (offset + index) % capacity);
    }
}

static void use_deque(int owner) {
    acp_deque_t deque = acp_create(deque, 0, owner);
    size_t size = 0;
    check_deque(deque, size);
    for (int round = 0; round < ROUNDS; round++) {
        size_t added = chance(100);
        acp_push_front(deque, deque, some(added), added);
        size += added;
        check_deque(deque, size);
        added = chance(100);
        acp_push_back(deque, deque, some(added), added);
        size += added;
        check_deque(deque, size);
        size_t taken = chance(size + 1);
        acp_pop_back(deque, deque, taken / 2);
        acp_pop_front(deque, deque, taken - taken / 2);
        size -= taken;
        check_deque(deque, size);
    }
    acp_clear(deque, deque);
    check_deque(deque, 0);
    acp_destroy(deque, deque);
}

/* List: head, tail, number of elements, where both are the list if it is empty. Element: next, previous, size, value; the list is beyond both
 * ends. */
static void check_list(acp_list_t list, size_t number) {
    acp_ga_t previous = list.ga, element = word(list.ga, 0);
    acp_list_it_t it = acp_begin(list, list);
    CHECK(word(list.ga, 2) == number && acp_size(list, list) == number);
    for (size_t index = 0; index < number; index++) {
        CHECK(it.elem == element && word(element, 1) == previous);
        acp_element_t value = acp_dereference(list_it, it);
        CHECK(value.ga == element + 24 && value.size == word(element, 2));
        /* Every value is its size, in each byte. */
        const unsigned char *bytes = look(element + 24, value.size);
        for (size_t i = 0; i < value.size; i++) {
            CHECK(bytes[i] == (unsigned char)value.size);
        }
        previous = element;
        element = word(element, 0);
        it = acp_increment(list_it, it);
    }
    CHECK(element == list.ga && word(list.ga, 1) == previous && it.elem == acp_end(list, list).elem);
}

static acp_element_t value_of(size_t size) {
    memset(acp_query_address(starter(acp_rank(), 0)), (int)(size & 255), size);
    acp_element_t element = {starter(acp_rank(), 0), size};
    return element;
}

static int longer(const acp_element_t one, const acp_element_t other) {
    return one.size < other.size ? -1 : one.size > other.size;
}

static void use_list(int owner, int procs) {
    acp_list_t list = acp_create(list, owner), other = acp_create(list, owner);
    size_t number = 0;
    check_list(list, 0);
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2) {
            acp_push_back(list, list, value_of(chance(100)), (int)chance((uint64_t)procs));
        } else {
            acp_push_front(list, list, value_of(chance(100)), (int)chance((uint64_t)procs));
        }
        check_list(list, ++number);
        if (chance(3) == 0) {
            acp_erase(list, acp_advance(list_it, acp_begin(list, list), (int)chance(number)));
            check_list(list, --number);
        }
        acp_push_back(list, other, value_of(chance(100)), (int)chance((uint64_t)procs));
    }
    acp_sort(list, list, longer);
    check_list(list, number);
    acp_reverse(list, list);
    check_list(list, number);
    acp_swap(list, list, other);
    check_list(list, ROUNDS);
    check_list(other, number);
    acp_splice(list, acp_end(list, list), acp_begin(list, other));
    check_list(list, ROUNDS + 1);
    check_list(other, number - 1);
    acp_merge(list, list, other, longer);
    check_list(list, ROUNDS + number);
    check_list(other, 0);
    acp_assign(list, other, list);
    check_list(other, ROUNDS + number);
    acp_clear(list, list);
    check_list(list, 0);
    acp_destroy(list, list);
    acp_destroy(list, other);
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs();
    state = (uint64_t)rank + 1;
    for (int step = 0; step < (procs > 1 ? 2 : 1); step++) {
        int owner = (rank + step) % procs;
        use_vector(owner);
        use_deque(owner);
        use_list(owner, procs);
    }
    acp_sync();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
