/* The place of the header in the first implementations of the interface. */
#include "../shmem.h"
