/* Numbers every operation that changes files under a folder, and makes one of them fail. Loaded with LD_PRELOAD.
 *
 * The environment says what to do; a process without FAULTS_ROOT is left alone.
 *   FAULTS_ROOT   the folder; other files are not counted
 *   FAULTS_AT     the number of the operation that fails, from 1; 0 only counts
 *   FAULTS_KIND   enospc, eio: it fails once with this error; full: it and all after it fail with ENOSPC;
 *                 before, after: the process dies before or after it; torn: it dies after half of a write;
 *                 short: a write that says it wrote half, which POSIX allows; stop, int, term: this signal comes after it
 *   FAULTS_CLOCK  seconds by which the system's clock is ahead
 *   FAULTS_SYNCED a folder outside of it that gets, at each fsync, what is on the disk from then on: the content of a
 *                 file as f-INODE, the names in a folder as d-INODE, each with its kind and inode
 *   FAULTS_LOG    a file outside of the folder that gets a line for each operation: its number, name, bytes and path
 *
 * SQLite, Arrow and Python's own files call these functions through the C library's table of symbols; what the C
 * library calls itself (stdio) is not seen, and nothing here writes by it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { NONE, ENOSPC_ONCE, EIO_ONCE, FULL, BEFORE, AFTER, TORN, SHORT, STOP, INT, TERM };

static char root[PATH_MAX];
static size_t root_length;
static long at;
static enum kind kind;
static int log_file = -1;
static char synced[PATH_MAX / 2];
static long number;
static long ahead;
static int armed; /* 0 not looked, 1 yes */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int look(void) {
  if (armed) return 1;
  const char *place = getenv("FAULTS_ROOT");
  if (!place) return 0;
  pthread_mutex_lock(&lock);
  if (!armed) {
    static const char *names[] = {"", "enospc", "eio", "full", "before", "after", "torn", "short", "stop", "int", "term"};
    const char *text = getenv("FAULTS_KIND");
    for (int each = 1; text && each <= TERM; each++)
      if (!strcmp(text, names[each])) kind = each;
    text = getenv("FAULTS_AT");
    at = text ? atol(text) : 0;
    text = getenv("FAULTS_CLOCK");
    ahead = text ? atol(text) : 0;
    snprintf(root, sizeof root, "%s", place);
    root_length = strlen(root);
    if ((text = getenv("FAULTS_SYNCED"))) snprintf(synced, sizeof synced, "%s", text);
    if ((text = getenv("FAULTS_LOG")))
      log_file = syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    armed = 1;
  }
  pthread_mutex_unlock(&lock);
  return 1;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead;
  return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int result = (int)syscall(SYS_gettimeofday, now, zone);
  if (!result) now->tv_sec += ahead;
  return result;
}
time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}

/* The path of an operation if it is under the folder, else NULL. */
static const char *under(const char *path, char *room) {
  if (!path) return NULL;
  if (path[0] != '/') {
    char here[PATH_MAX / 2];
    if (syscall(SYS_getcwd, here, sizeof here) < 0) return NULL;
    snprintf(room, PATH_MAX, "%s/%s", here, path);
    path = room;
  }
  if (strncmp(path, root, root_length) || (path[root_length] != '/' && path[root_length])) return NULL;
  return path;
}

static const char *of_file(int file, char *room) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  long length = syscall(SYS_readlinkat, AT_FDCWD, name, room, PATH_MAX - 1);
  if (length <= 0) return NULL;
  room[length] = 0;
  return under(room, room);
}

/* Count an operation; what is to happen to it. Dies here if it is to die before. */
static enum kind counted(const char *name, const char *path, long bytes) {
  pthread_mutex_lock(&lock);
  long mine = ++number;
  pthread_mutex_unlock(&lock);
  if (log_file >= 0) {
    char line[PATH_MAX + 100];
    int length = snprintf(line, sizeof line, "%ld %s %ld %s\n", mine, name, bytes, path + root_length);
    syscall(SYS_write, log_file, line, (size_t)length);
  }
  if (!at || mine < at) return NONE;
  if (kind == FULL) return FULL;
  if (mine > at) return NONE;
  if (kind == BEFORE) syscall(SYS_exit_group, 137);
  return kind;
}

static int fails(enum kind what) {
  if (what != ENOSPC_ONCE && what != EIO_ONCE && what != FULL) return 0;
  errno = what == EIO_ONCE ? EIO : ENOSPC;
  return 1;
}

static void dies_after(enum kind what) {
  if (what == AFTER || what == TORN) syscall(SYS_exit_group, 137);
  if (what >= STOP) syscall(SYS_kill, syscall(SYS_getpid), what == STOP ? SIGSTOP : what == INT ? SIGINT : SIGTERM);
}

/* An operation: what it is called, how its path is found, the call, and whether it frees space: removing succeeds on a
   full disk, and so does shortening a file. */
#define OPERATION(name, find, call, frees)                          \
  char room[PATH_MAX];                                              \
  const char *place;                                                \
  if (!look() || !(place = find)) return call;                      \
  enum kind what = counted(name, place, 0);                         \
  if (!((frees) && (what == FULL || what == ENOSPC_ONCE)) && fails(what)) return -1; \
  __typeof__(call) result = call;                                   \
  int error = errno;                                                \
  dies_after(what);                                                 \
  errno = error;                                                    \
  return result

#define ON_PATH(name, path, call, frees) OPERATION(name, under(path, room), call, frees)
#define ON_FILE(name, file, call, frees) OPERATION(name, of_file(file, room), call, frees)

#define WRITE(name, file, size, whole, half)                        \
  char room[PATH_MAX];                                              \
  const char *place;                                                \
  if (!look() || !(place = of_file(file, room))) return whole;      \
  enum kind what = counted(name, place, (long)(size));              \
  if (fails(what)) return -1;                                       \
  if ((what == TORN || what == SHORT) && (size) > 1) {              \
    ssize_t result = half;                                          \
    if (what == TORN) syscall(SYS_exit_group, 137);                 \
    return result;                                                  \
  }                                                                 \
  ssize_t result = whole;                                           \
  int error = errno;                                                \
  dies_after(what);                                                 \
  errno = error;                                                    \
  return result

#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define OPEN_MODE                                                   \
  mode_t mode = 0;                                                  \
  if (flags & (O_CREAT | __O_TMPFILE)) {                            \
    va_list more;                                                   \
    va_start(more, flags);                                          \
    mode = va_arg(more, mode_t);                                    \
    va_end(more);                                                   \
  }

/* Opening an existing file without O_CREAT changes nothing and is not counted, but for O_TRUNC. */
static int opens(int folder, const char *path, int flags, mode_t mode) {
  char room[PATH_MAX], of_folder[PATH_MAX];
  const char *place = NULL;
  if (look() && (flags & (O_CREAT | O_TRUNC))) {
    if (folder == AT_FDCWD || path[0] == '/') place = under(path, room);
    else if (of_file(folder, of_folder)) {
      snprintf(room, sizeof room, "%.2000s/%.2000s", of_folder, path);
      place = under(room, room);
    }
  }
  if (!place) return syscall(SYS_openat, folder, path, flags, mode);
  enum kind what = counted("open", place, 0);
  if (fails(what)) return -1;
  int result = syscall(SYS_openat, folder, path, flags, mode);
  int error = errno;
  dies_after(what);
  errno = error;
  return result;
}

int open(const char *path, int flags, ...) { OPEN_MODE return opens(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPEN_MODE return opens(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { OPEN_MODE return opens(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { OPEN_MODE return opens(folder, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return opens(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return opens(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

FILE *fopen(const char *path, const char *mode) {
  char room[PATH_MAX];
  const char *place;
  FILE *(*next)(const char *, const char *) = NEXT(fopen);
  if (!strpbrk(mode, "wa") || !look() || !(place = under(path, room))) return next(path, mode);
  enum kind what = counted("open", place, 0);
  if (fails(what)) return NULL;
  FILE *result = next(path, mode);
  int error = errno;
  dies_after(what);
  errno = error;
  return result;
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

ssize_t write(int file, const void *from, size_t size) {
  WRITE("write", file, size, syscall(SYS_write, file, from, size), syscall(SYS_write, file, from, size / 2));
}
ssize_t pwrite(int file, const void *from, size_t size, off_t place_in) {
  WRITE("write", file, size, syscall(SYS_pwrite64, file, from, size, place_in), syscall(SYS_pwrite64, file, from, size / 2, place_in));
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t place_in) { return pwrite(file, from, size, place_in); }
ssize_t writev(int file, const struct iovec *parts, int count) {
  WRITE("write", file, count, syscall(SYS_writev, file, parts, count), syscall(SYS_writev, file, parts, count / 2));
}
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
  WRITE("write", to, size, syscall(SYS_sendfile, to, from, offset, size), syscall(SYS_sendfile, to, from, offset, size / 2));
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t size) { return sendfile(to, from, offset, size); }
ssize_t copy_file_range(int from, off64_t *in, int to, off64_t *out, size_t size, unsigned flags) {
  WRITE("write", to, size, syscall(SYS_copy_file_range, from, in, to, out, size, flags),
        syscall(SYS_copy_file_range, from, in, to, out, size / 2, flags));
}

int rename(const char *from, const char *to) { ON_PATH("rename", to, (int)syscall(SYS_rename, from, to), 0); }
int renameat(int folder, const char *from, int other, const char *to) {
  ON_PATH("rename", to, (int)syscall(SYS_renameat, folder, from, other, to), 0);
}
int renameat2(int folder, const char *from, int other, const char *to, unsigned flags) {
  ON_PATH("rename", to, (int)syscall(SYS_renameat2, folder, from, other, to, flags), 0);
}
int link(const char *from, const char *to) { ON_PATH("link", to, (int)syscall(SYS_link, from, to), 0); }
int linkat(int folder, const char *from, int other, const char *to, int flags) {
  ON_PATH("link", to, (int)syscall(SYS_linkat, folder, from, other, to, flags), 0);
}
int symlink(const char *from, const char *to) { ON_PATH("link", to, (int)syscall(SYS_symlink, from, to), 0); }
int unlink(const char *path) { ON_PATH("unlink", path, (int)syscall(SYS_unlink, path), 1); }
int rmdir(const char *path) { ON_PATH("rmdir", path, (int)syscall(SYS_rmdir, path), 1); }
int remove(const char *path) {
  struct stat kind_of;
  if (!lstat(path, &kind_of) && S_ISDIR(kind_of.st_mode)) return rmdir(path);
  return unlink(path);
}
int unlinkat(int folder, const char *path, int flags) {
  char of_folder[PATH_MAX], whole[2 * PATH_MAX];
  const char *named = path;
  if (folder != AT_FDCWD && path[0] != '/' && look() && of_file(folder, of_folder)) {
    snprintf(whole, sizeof whole, "%s/%s", of_folder, path);
    named = whole;
  } else if (folder != AT_FDCWD && path[0] != '/') {
    return (int)syscall(SYS_unlinkat, folder, path, flags);
  }
  ON_PATH(flags & AT_REMOVEDIR ? "rmdir" : "unlink", named, (int)syscall(SYS_unlinkat, folder, path, flags), 1);
}
int mkdir(const char *path, mode_t mode) { ON_PATH("mkdir", path, (int)syscall(SYS_mkdir, path, mode), 0); }
int mkdirat(int folder, const char *path, mode_t mode) {
  ON_PATH("mkdir", path, (int)syscall(SYS_mkdirat, folder, path, mode), 0);
}
int truncate(const char *path, off_t size) { ON_PATH("truncate", path, (int)syscall(SYS_truncate, path, size), 1); }
int truncate64(const char *path, off64_t size) { return truncate(path, size); }
int ftruncate(int file, off_t size) { ON_FILE("truncate", file, (int)syscall(SYS_ftruncate, file, size), 1); }
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }
/* Note what is on the disk once a file or a folder has been brought there. */
static void note_synced(int file) {
  struct stat of;
  char name[PATH_MAX], part[PATH_MAX + 8], line[PATH_MAX + 64];
  if (!synced[0] || fstat(file, &of)) return;
  snprintf(name, sizeof name, "%s/%c-%lu", synced, S_ISDIR(of.st_mode) ? 'd' : 'f', (unsigned long)of.st_ino);
  snprintf(part, sizeof part, "%s.part", name);
  int to = syscall(SYS_openat, AT_FDCWD, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) return;
  snprintf(line, sizeof line, "/proc/self/fd/%d", file);
  if (S_ISDIR(of.st_mode)) {
    DIR *folder = opendir(line);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
      struct stat its;
      if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
      if (fstatat(dirfd(folder), entry->d_name, &its, AT_SYMLINK_NOFOLLOW)) continue;
      int length = snprintf(line, sizeof line, "%c %lu %s\n", S_ISDIR(its.st_mode) ? 'd' : 'f',
                            (unsigned long)its.st_ino, entry->d_name);
      syscall(SYS_write, to, line, (size_t)length);
    }
    if (folder) closedir(folder);
  } else {
    int from = syscall(SYS_openat, AT_FDCWD, line, O_RDONLY | O_CLOEXEC, 0);
    ssize_t read_now;
    while (from >= 0 && (read_now = syscall(SYS_read, from, line, sizeof line)) > 0)
      syscall(SYS_write, to, line, (size_t)read_now);
    if (from >= 0) syscall(SYS_close, from);
  }
  syscall(SYS_close, to);
  syscall(SYS_rename, part, name);
}

static int syncs(int file, long call) {
  int result = (int)syscall(call, file);
  char room[PATH_MAX];
  if (!result && look() && of_file(file, room)) note_synced(file);
  return result;
}
int fsync(int file) { ON_FILE("fsync", file, syncs(file, SYS_fsync), 0); }
int fdatasync(int file) { ON_FILE("fsync", file, syncs(file, SYS_fdatasync), 0); }
