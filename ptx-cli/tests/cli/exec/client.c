/* Launches a kernel of a PTX file: client PTX KERNEL [LAUNCHES [abort]]. The kernel has one buffer of 64 words, the numbers from 0 on, which are printed.
   With REGISTERED=BYTES in the environment, the buffer is an array on the stack, of which that many bytes are registered. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "no function %s\n", name);
        exit(9);
    }
    return found;
}

static void check(int status, const char *call)
{
    if (status != 0) {
        printf("%s: %d\n", call, status);
        exit(4);
    }
}

#define CALL(name, parameters, ...) check(((int (*) parameters)function(#name))(__VA_ARGS__), #name)

int main(int count, char **arguments)
{
    static char text[1 << 16];
    unsigned numbers[64];
    int device, i, launches = count > 3 ? atoi(arguments[3]) : 1;
    const char *registered = getenv("REGISTERED");
    void *context, *module, *kernel;
    unsigned long long buffer;
    FILE *file = fopen(arguments[1], "rb");
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL || file == NULL) {
        fprintf(stderr, "%s\n", library ? arguments[1] : dlerror());
        return 9;
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    CALL(cuModuleLoadData, (void **, const void *), &module, text);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, arguments[2]);
    for (i = 0; i < 64; i++)
        numbers[i] = i;
    if (registered != NULL) {
        CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), numbers, atoi(registered), 0);
        CALL(cuMemHostGetDevicePointer_v2, (unsigned long long *, void *, unsigned), &buffer, numbers, 0);
    } else {
        CALL(cuMemAlloc_v2, (unsigned long long *, size_t), &buffer, sizeof numbers);
        CALL(cuMemcpyHtoD_v2, (unsigned long long, const void *, size_t), buffer, numbers, sizeof numbers);
    }
    for (i = 0; i < launches; i++) {
        /* A kernel with one struct reads all of it. */
        struct { unsigned long long buffer; unsigned scale, padding; unsigned long long middle; } all = {buffer, 3, 0, buffer + 128};
        void *parameters[] = {&all, &all.scale, &all.middle};
        CALL(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
             kernel, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL);
    }
    CALL(cuCtxSynchronize, (void), );
    if (count > 4)
        abort();
    if (registered != NULL)
        CALL(cuMemHostUnregister, (void *), numbers);
    else
        CALL(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t), numbers, buffer, sizeof numbers);
    for (i = 0; i < 64; i++)
        printf("%u%c", numbers[i], i == 63 ? '\n' : ' ');
    return 0;
}
