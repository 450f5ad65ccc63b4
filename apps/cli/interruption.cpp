#include "apps/cli/interruption.h"

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace perfuse::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

// A handler can reach nothing but statics. It must not touch a stop_source (which locks and calls back), so it
// posts a semaphore for a thread that may.
std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free);
sem_t wake;

void on_signal(int signal) {
  const int saved = errno;
  caught.store(signal);
  sem_post(&wake);
  errno = saved;
}

}  // namespace

Interruption::Interruption() {
  caught.store(0);
  if (sem_init(&wake, 0, 0) != 0) throw std::system_error(errno, std::generic_category(), "sem_init");
  waiter_ = std::thread([this] {
    while (sem_wait(&wake) != 0 && errno == EINTR) {
    }
    if (caught.load() != 0) source_.request_stop();
  });
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags =
        static_cast<int>(SA_RESETHAND | static_cast<unsigned>(SA_RESTART));  // the second one kills
    sigaction(signal, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == on_signal) std::signal(signal, SIG_DFL);
  }
  sem_post(&wake);
  waiter_.join();
  sem_destroy(&wake);
}

int Interruption::signal() const { return caught.load(); }

}  // namespace perfuse::cli
