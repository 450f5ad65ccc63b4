// Any bytes given to SafetensorsFile are read, or refused with an Error. Each input is tried as a file,
// and as a header whose length is right, which a mutation hardly finds; its last byte is then the size of
// the data.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/tensor/safetensors.h"

namespace {

using Bytes = std::span<const std::uint8_t>;

class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : fd_(::memfd_create("fuzz", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Reads every byte of every tensor, so that a range outside the map is a fault.
void read_all(const perfuse::SafetensorsFile& file) {
  std::size_t read = 0;
  unsigned sum = 0;
  bool all = true;
  for (const auto& name : file.names()) {
    try {
      const perfuse::Tensor tensor = file.tensor(name);
      for (const auto byte : tensor.bytes()) sum += std::to_integer<unsigned>(byte);
      static_cast<void>(perfuse::all_finite(tensor));
      read += tensor.nbytes();
    } catch (const perfuse::Error&) {
      all = false;  // a type that is not read, a bool of 2
    }
  }
  [[maybe_unused]] volatile const unsigned kept = sum;
  if (all && read > file.file()->bytes().size()) std::abort();  // ranges don't overlap
}

void open(Bytes bytes) {
  const MemoryFile file(bytes);
  try {
    read_all(perfuse::SafetensorsFile::open(file.path()));
  } catch (const perfuse::Error& error) {
    if (error.kind() != perfuse::ErrorKind::model) std::abort();
    if (std::string(error.what()).size() > 2000) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  open({data, size});
  if (size == 0) return 0;
  std::vector<std::uint8_t> framed;
  for (int i = 0; i < 8; ++i) framed.push_back(static_cast<std::uint8_t>((size - 1) >> (8 * i)));
  framed.insert(framed.end(), data, data + size - 1);
  framed.resize(framed.size() + data[size - 1], 1);
  open(framed);
  return 0;
}
