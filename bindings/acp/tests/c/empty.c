/* A program that never calls the library. */
int main(void) {
    return 0;
}
