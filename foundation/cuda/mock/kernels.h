/* Kernels of programs: what the mock driver does when one is launched. */
#define PROGRAM_KERNELS
