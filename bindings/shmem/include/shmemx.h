/* Extensions to OpenSHMEM: there are none. Programs include this header for those of other implementations, whose names begin with shmemx_. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#endif
