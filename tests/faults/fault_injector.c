/* Lets one call of a program fail; loaded by LD_PRELOAD, for tests only.
 *
 *   TILESCOPE_FAULT=KIND:N[:WHAT]   alloc:N          allocation N returns null
 *                                   write:N:ERRNO    write N fails (WHAT is ENOSPC, EIO, EFBIG or short, which writes half)
 *                                   rename:N:ERRNO   rename N fails
 *                                   thread:N         thread N cannot be made
 *   TILESCOPE_FAULT_FIRED=FILE      is created when the call fails
 *   TILESCOPE_FAULT_CALLS=FILE      holds the number of allocations, writes, renames and threads once main() has returned
 *
 * Calls are counted from the start of main(). A program writes through write(), and through fwrite() and fflush() to standard output. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { none, alloc_fault, write_fault, rename_fault, thread_fault };

static enum kind fault_kind = none;
static long fault_at = 0;
static int fault_errno = ENOSPC, fault_short = 0;
static atomic_int counting = 0;
static atomic_long calls[thread_fault + 1];

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

/* System calls only: nothing here may allocate. */
static void say_fired(void) {
  const char* path = getenv("TILESCOPE_FAULT_FIRED");
  if (path == NULL) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) close(file);
}

static int fails(enum kind kind) {
  if (!counting) return 0;
  const long call = atomic_fetch_add(&calls[kind], 1) + 1;
  if (kind != fault_kind || call != fault_at) return 0;
  say_fired();
  return 1;
}

static void say_calls(void) {
  const char* path = getenv("TILESCOPE_FAULT_CALLS");
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld %ld %ld %ld\n", calls[alloc_fault], calls[write_fault], calls[rename_fault], calls[thread_fault]);
  fclose(file);
}

static void read_fault(void) {
  const char* text = getenv("TILESCOPE_FAULT");
  if (text == NULL) return;
  static const char* const names[] = {"", "alloc:", "write:", "rename:", "thread:"};
  for (int i = 1; i <= thread_fault; ++i)
    if (strncmp(text, names[i], strlen(names[i])) == 0) fault_kind = (enum kind)i;
  fault_at = atol(strchr(text, ':') + 1);
  if (strstr(text, "EIO") != NULL) fault_errno = EIO;
  if (strstr(text, "EFBIG") != NULL) fault_errno = EFBIG;
  if (strstr(text, "short") != NULL) fault_short = 1;
}

/* What the program starts, sort for instance, is left alone. */
static int (*real_main)(int, char**, char**);
static int counted_main(int argc, char** argv, char** environment) {
  read_fault();
  unsetenv("LD_PRELOAD");
  counting = 1;
  const int code = real_main(argc, argv, environment);
  counting = 0;
  say_calls();
  return code;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  typedef int (*start)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
  real_main = main;
  const start next = (start)dlsym(RTLD_NEXT, "__libc_start_main");
  return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

void* malloc(size_t size) {
  if (fails(alloc_fault)) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  if (fails(alloc_fault)) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) {
  if (fails(alloc_fault)) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_realloc(old, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  if (fails(alloc_fault)) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  if (fails(alloc_fault)) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? ENOMEM : 0;
}

ssize_t write(int file, const void* data, size_t size) {
  if (file != STDERR_FILENO && fails(write_fault)) {
    if (fault_short && size > 1) return syscall(SYS_write, file, data, size / 2);
    if (!fault_short) {
      errno = fault_errno;
      return -1;
    }
  }
  return syscall(SYS_write, file, data, size);
}

size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  typedef size_t (*function)(const void*, size_t, size_t, FILE*);
  static function next = NULL;
  if (next == NULL) next = (function)dlsym(RTLD_NEXT, "fwrite");
  if (file == stdout && !fault_short && fails(write_fault)) {
    errno = fault_errno;
    return 0;
  }
  return next(data, size, count, file);
}

int fflush(FILE* file) {
  typedef int (*function)(FILE*);
  static function next = NULL;
  if (next == NULL) next = (function)dlsym(RTLD_NEXT, "fflush");
  if (file == stdout && !fault_short && fails(write_fault)) {
    errno = fault_errno;
    return EOF;
  }
  return next(file);
}

int rename(const char* from, const char* to) {
  typedef int (*function)(const char*, const char*);
  static function next = NULL;
  if (next == NULL) next = (function)dlsym(RTLD_NEXT, "rename");
  if (fails(rename_fault)) {
    errno = fault_errno;
    return -1;
  }
  return next(from, to);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  typedef int (*function)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static function next = NULL;
  if (next == NULL) next = (function)dlsym(RTLD_NEXT, "pthread_create");
  if (fails(thread_fault)) return EAGAIN;
  return next(thread, attributes, run, argument);
}
