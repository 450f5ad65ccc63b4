#include "perfuse/backends/pjrt/client.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "perfuse/backends/pjrt/compile_options.h"
#include "perfuse/backends/pjrt/loaded_executable.h"
#include "perfuse/core/file.h"

namespace perfuse::pjrt {
namespace {

// Smaller values are copied even where they need not be: an owner costs more.
constexpr std::size_t kLeastZeroCopy = std::size_t{64} << 10;

struct LiveClients {
  std::mutex mutex;
  std::set<Client*> clients;
};
LiveClients& live_clients() {
  static LiveClients instance;
  return instance;
}

// The clients that this thread has started programs on. Thread-local objects of the main thread are destroyed before
// static ones, plugins' own among them, which a program that still runs would use.
struct ThreadRuns {
  std::vector<std::weak_ptr<const Client>> clients;

  void note(const std::shared_ptr<const Client>& client) {
    for (const auto& known : clients)
      if (!known.owner_before(client) && !client.owner_before(known)) return;
    std::erase_if(clients, [](const auto& known) { return known.expired(); });
    clients.push_back(client);
  }
  ThreadRuns() = default;
  ThreadRuns(const ThreadRuns&) = delete;
  ThreadRuns& operator=(const ThreadRuns&) = delete;
  ~ThreadRuns() {
    for (const auto& known : clients)
      if (const auto client = known.lock()) static_cast<void>(client->pending().wait());
  }
};
thread_local ThreadRuns thread_runs;

// Options as the plugin reads them; the views point into `options`.
std::vector<abi::NamedValue> to_abi(std::span<const NamedValue> options) {
  struct Fill {
    abi::NamedValue& to;
    void operator()(bool value) const {
      to.kind = abi::ValueKind::boolean;
      to.value.boolean = value;
    }
    void operator()(std::int64_t value) const {
      to.kind = abi::ValueKind::int64;
      to.value.int64 = value;
    }
    void operator()(float value) const {
      to.kind = abi::ValueKind::float32;
      to.value.float32 = value;
    }
    void operator()(const std::string& value) const {
      to.kind = abi::ValueKind::string;
      to.value.string = value.data();
      to.value_size = value.size();
    }
    void operator()(const std::vector<std::int64_t>& value) const {
      to.kind = abi::ValueKind::int64_list;
      to.value.int64_list = value.data();
      to.value_size = value.size();
    }
  };
  std::vector<abi::NamedValue> result;
  for (const auto& option : options) {
    auto& to = result.emplace_back();
    to.head.struct_size = sizeof(abi::NamedValue);
    to.name = option.name.data();
    to.name_size = option.name.size();
    to.value_size = 1;
    std::visit(Fill{to}, option.value);
  }
  return result;
}

template <class Arguments> std::string client_text(const Plugin& plugin, abi::Client* client) {
  Arguments arguments{};
  arguments.client = client;
  if (plugin.attempt(arguments)) return "";
  return {arguments.text, arguments.size};
}

template <class Arguments>
std::string device_text(const Plugin& plugin, abi::DeviceDescription* description) {
  Arguments arguments{};
  arguments.description = description;
  if (plugin.attempt(arguments)) return "";
  return {arguments.text, arguments.size};
}

DeviceInfo describe(const Plugin& plugin, abi::Device* device) {
  DeviceInfo info{device, -1, "", ""};
  abi::DeviceDescriptionArgs description{};
  description.device = device;
  if (plugin.attempt(description)) return info;
  abi::DeviceDescriptionIdArgs id{};
  id.description = description.description;
  if (!plugin.attempt(id)) info.id = id.id;
  info.kind = device_text<abi::DeviceDescriptionKindArgs>(plugin, description.description);
  info.description = device_text<abi::DeviceDescriptionToStringArgs>(plugin, description.description);
  return info;
}

std::vector<DeviceInfo> addressable_devices(const Plugin& plugin, abi::Client* client) {
  abi::ClientAddressableDevicesArgs arguments{};
  arguments.client = client;
  plugin.call(arguments, "listing devices");
  std::vector<DeviceInfo> devices;
  for (abi::Device* device : std::span(arguments.devices, arguments.num_devices))
    devices.push_back(describe(plugin, device));
  return devices;
}

// A buffer that is filled in pieces.
class TransferManager {
 public:
  TransferManager(const Client& client, const graph::ValueType& type, std::size_t device)
      : plugin_(client.plugin()) {
    abi::DeviceDefaultMemoryArgs memory{};
    memory.device = client.devices()[device].handle;
    plugin_.call(memory, "asking for a device's memory");
    abi::ShapeSpec shape{};
    shape.head.struct_size = sizeof(shape);
    shape.dims = type.shape.data();
    shape.num_dims = type.shape.size();
    shape.type = buffer_type(type.dtype);
    abi::ClientCreateTransferBuffersArgs arguments{};
    arguments.client = client.handle();
    arguments.shapes = &shape;
    arguments.num_shapes = 1;
    arguments.memory = memory.memory;
    plugin_.call(arguments, "allocating device memory");
    manager_ = arguments.manager;
  }
  ~TransferManager() {
    // What is under way reads the host's memory, which the caller may drop.
    for (const auto& event : under_way_) static_cast<void>(event.wait());
    abi::TransferManagerDestroyArgs arguments{};
    arguments.manager = manager_;
    static_cast<void>(plugin_.attempt(arguments));
  }
  TransferManager(const TransferManager&) = delete;
  TransferManager& operator=(const TransferManager&) = delete;

  [[nodiscard]] abi::Buffer* buffer() const {
    abi::TransferManagerRetrieveBufferArgs arguments{};
    arguments.manager = manager_;
    plugin_.call(arguments, "allocating device memory");
    return arguments.buffer;
  }
  // Starts a piece; at most two are under way.
  void send(std::span<const std::byte> piece, std::size_t offset, bool is_last) {
    while (under_way_.size() > 1) finish_one();
    abi::TransferManagerTransferDataArgs arguments{};
    arguments.manager = manager_;
    arguments.data = piece.data();
    arguments.offset = static_cast<std::int64_t>(offset);
    arguments.size = static_cast<std::int64_t>(piece.size());
    arguments.is_last = is_last;
    plugin_.call(arguments, "uploading a value");
    under_way_.emplace_back(plugin_, arguments.done);
  }
  void finish() {
    while (!under_way_.empty()) finish_one();
  }

 private:
  void finish_one() {
    const Event event = std::move(under_way_.front());
    under_way_.pop_front();
    event.await("uploading a value");
  }

  const Plugin& plugin_;
  abi::TransferManager* manager_ = nullptr;
  std::deque<Event> under_way_;
};

}  // namespace

std::shared_ptr<Client> Client::create(std::shared_ptr<const Plugin> plugin,
                                       std::span<const NamedValue> options) {
  const auto values = to_abi(options);
  abi::ClientCreateArgs arguments{};
  arguments.options = values.data();
  arguments.num_options = values.size();
  plugin->call(arguments, "opening its devices");
  std::shared_ptr<Client> client(new Client(std::move(plugin), arguments.client));
  client->devices_ = addressable_devices(*client->plugin_, client->handle_);
  if (client->devices_.empty())
    fail(ErrorKind::device, "plugin {}: it finds no device", display(client->plugin().path()));
  // Exit handlers run in reverse order: this one before the plugin, loaded earlier, takes itself down.
  LiveClients& live = live_clients();
  const std::scoped_lock lock(live.mutex);
  if (live.clients.insert(client.get()).second) std::atexit(&Client::abandon_all);
  return client;
}

Client::Client(std::shared_ptr<const Plugin> plugin, abi::Client* handle)
    : plugin_(std::move(plugin)),
      handle_(handle),
      platform_name_(client_text<abi::ClientPlatformNameArgs>(*plugin_, handle)),
      platform_version_(client_text<abi::ClientPlatformVersionArgs>(*plugin_, handle)) {}

Client::~Client() {
  if (abandoned_) return;
  {
    LiveClients& live = live_clients();
    const std::scoped_lock lock(live.mutex);
    live.clients.erase(this);
  }
  static_cast<void>(pending_.wait());
  abi::ClientDestroyArgs arguments{};
  arguments.client = handle_;
  static_cast<void>(plugin_->attempt(arguments));
}

void Client::abandon_all() {
  LiveClients& live = live_clients();
  const std::scoped_lock lock(live.mutex);
  for (Client* client : live.clients) {
    static_cast<void>(client->pending_.wait());  // and so let go of the events
    client->abandoned_ = true;
  }
  live.clients.clear();
}

std::shared_ptr<const LoadedExecutable> Client::compile(std::span<const std::byte> program,
                                                        std::span<const std::byte> options,
                                                        ProgramSignature signature) const {
  if (program.empty()) fail(ErrorKind::usage, "compiling a program: it is empty");
  check_compile_options(options);
  constexpr std::string_view kFormat = "hlo";
  abi::Program code{};
  code.head.struct_size = sizeof(code);
  code.code = reinterpret_cast<const char*>(program.data());
  code.code_size = program.size();
  code.format = kFormat.data();
  code.format_size = kFormat.size();
  abi::ClientCompileArgs arguments{};
  arguments.client = handle_;
  arguments.program = &code;
  arguments.options = reinterpret_cast<const char*>(options.data());
  arguments.options_size = options.size();
  plugin_->call(arguments, "compiling a program", ErrorKind::compiler);
  return std::make_shared<const LoadedExecutable>(shared_from_this(), arguments.executable,
                                                  std::move(signature));
}

std::shared_ptr<const LoadedExecutable> Client::deserialize(std::span<const std::byte> bytes,
                                                            ProgramSignature signature) const {
  if (bytes.empty()) fail(ErrorKind::usage, "loading a compiled program: it is empty");
  abi::ExecutableDeserializeArgs arguments{};
  arguments.client = handle_;
  arguments.bytes = reinterpret_cast<const char*>(bytes.data());
  arguments.bytes_size = bytes.size();
  plugin_->call(arguments, "loading a compiled program", ErrorKind::compiler);
  return std::make_shared<const LoadedExecutable>(shared_from_this(), arguments.executable,
                                                  std::move(signature));
}

UploadPath Client::path_for(const HostValue& value) const {
  const std::size_t size = value.bytes.size();
  if (platform_name_ == "cpu")
    return value.owner && size >= kLeastZeroCopy ? UploadPath::zero_copy : UploadPath::copy;
  const bool pieces = plugin_->has(abi::Slot::client_create_transfer_buffers) &&
                      plugin_->has(abi::Slot::transfer_manager_transfer_data) &&
                      plugin_->has(abi::Slot::transfer_manager_retrieve_buffer) &&
                      plugin_->has(abi::Slot::transfer_manager_destroy) &&
                      plugin_->has(abi::Slot::device_default_memory);
  return pieces && size > kUploadChunk ? UploadPath::chunked : UploadPath::copy;
}

DeviceBufferPtr Client::upload(const HostValue& value, std::size_t device) const {
  return upload(value, device, path_for(value));
}

DeviceBufferPtr Client::upload(const HostValue& value, std::size_t device, UploadPath path) const {
  if (device >= devices_.size())
    fail(ErrorKind::usage, "upload to device {}: plugin {} has {}", device, display(plugin_->path()),
         devices_.size());
  if (value.bytes.size() != value.type.bytes())
    fail(ErrorKind::usage, "upload of {}: {} bytes, expected {}", graph::to_string(value.type),
         value.bytes.size(), value.type.bytes());
  pending_.sweep();
  if (path == UploadPath::chunked) return upload_chunked(value, device);
  return upload_whole(value, device, path == UploadPath::zero_copy && value.owner != nullptr);
}

DeviceBufferPtr Client::upload_whole(const HostValue& value, std::size_t device, bool zero_copy) const {
  abi::ClientBufferFromHostArgs arguments{};
  arguments.client = handle_;
  arguments.data = value.bytes.data();
  arguments.type = buffer_type(value.type.dtype);
  arguments.dims = value.type.shape.data();
  arguments.num_dims = value.type.shape.size();
  arguments.semantics = zero_copy ? abi::HostBufferSemantics::immutable_zero_copy
                                  : abi::HostBufferSemantics::until_transfer_completes;
  arguments.device = devices_[device].handle;
  plugin_->call(arguments, "uploading a value");
  Event host_use(*plugin_, arguments.done_with_host);
  if (zero_copy)
    return std::make_shared<const DeviceBuffer>(shared_from_this(), arguments.buffer, value.type, device,
                                                std::move(host_use), value.owner);
  auto buffer =
      std::make_shared<const DeviceBuffer>(shared_from_this(), arguments.buffer, value.type, device);
  host_use.await("uploading a value");
  if (value.copied) value.copied(value.bytes);
  return buffer;
}

DeviceBufferPtr Client::upload_chunked(const HostValue& value, std::size_t device) const {
  TransferManager manager(*this, value.type, device);
  auto buffer =
      std::make_shared<const DeviceBuffer>(shared_from_this(), manager.buffer(), value.type, device);
  const auto bytes = value.bytes;
  std::size_t told = 0;
  // A value without elements is one empty piece.
  for (std::size_t begin = 0; begin == 0 || begin < bytes.size(); begin += kUploadChunk) {
    const auto piece = bytes.subspan(begin, std::min(kUploadChunk, bytes.size() - begin));
    manager.send(piece, begin, begin + piece.size() == bytes.size());
    // All but the last two pieces sent are there.
    const std::size_t there = begin < kUploadChunk ? 0 : begin - kUploadChunk;
    if (value.copied && there > told) value.copied(bytes.subspan(told, there - told));
    told = std::max(told, there);
  }
  manager.finish();
  if (value.copied && told < bytes.size()) value.copied(bytes.subspan(told));
  return buffer;
}

std::optional<DeviceMemory> Client::memory(std::size_t device) const {
  abi::DeviceMemoryStatsArgs arguments{};
  arguments.device = devices_.at(device).handle;
  if (const auto failure = plugin_->attempt(arguments)) {
    if (failure->code == abi::ErrorCode::unimplemented) return std::nullopt;
    plugin_->fail_with(*failure, "asking for a device's memory", ErrorKind::device);
  }
  const auto optional = [](const abi::OptionalStat& stat) {
    return stat.is_set ? std::optional(static_cast<std::uint64_t>(stat.value)) : std::nullopt;
  };
  return DeviceMemory{static_cast<std::uint64_t>(arguments.bytes_in_use),
                      optional(arguments.peak_bytes_in_use), optional(arguments.bytes_limit)};
}

void Client::add_run(Event event) const {
  thread_runs.note(shared_from_this());
  pending_.add(std::move(event), "running a program", nullptr);
}

void Client::synchronize() const {
  if (const auto failure = pending_.wait()) throw Error(*failure);
}

}  // namespace perfuse::pjrt
