/* A time of day that a test can set, for one system alone: preloaded, it adds an offset to what the C library says.
 *
 * The offset, in seconds, lies in the file that STEPPED_CLOCK names; a step applies at once. The monotonic clock, and
 * with it all that sleeps or waits for a time to pass, goes on, as when a machine's clock is set. (Debian's libfaketime
 * would do, but its clock_nanosleep(2) refuses Python's absolute sleeps on the monotonic clock.)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *offset_s;

static long offset(void) { return offset_s ? *offset_s : 0; }

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("STEPPED_CLOCK");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) offset_s = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  int result = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return result;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now) *now = precise.tv_sec;
  return precise.tv_sec;
}

/* Waits until a moment of the day: the kernel knows only the real one. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
  static int (*real)(sem_t *, const struct timespec *);
  if (!real) real = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec moved = *until;
  moved.tv_sec -= offset();
  return real(semaphore, &moved);
}
