// The binary interface of PJRT plugins, as far as perfuse uses it: struct layouts, function slots and numbers
// of version 0.x on 64-bit machines, in our own names. pjrt_abi.cpp asserts every offset.
//
// A plugin exports GetPjrtApi(), which gives a table of function pointers. All take one pointer to a struct
// that begins with its own size, and return an error object or null; the two functions about errors return
// nothing. A table may be shorter than this enum (an older plugin) or longer (a newer one).
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfuse::pjrt::abi {

// Objects of the plugin; never looked into.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Executable;
struct LoadedExecutable;
struct SerializedExecutable;
struct Buffer;
struct TransferManager;

// Positions in the table of functions.
enum class Slot : std::size_t {
  error_destroy = 0,
  error_message = 1,
  error_code = 2,
  plugin_initialize = 3,
  plugin_attributes = 4,
  event_destroy = 5,
  event_is_ready = 6,
  event_error = 7,
  event_await = 8,
  client_create = 10,
  client_destroy = 11,
  client_platform_name = 12,
  client_platform_version = 14,
  client_addressable_devices = 16,
  client_compile = 20,
  client_buffer_from_host = 22,
  device_description_id = 23,
  device_description_kind = 26,
  device_description_to_string = 28,
  device_description = 29,
  device_default_memory = 33,
  device_memory_stats = 34,
  executable_destroy = 40,
  executable_num_outputs = 44,
  executable_serialize = 49,
  loaded_executable_destroy = 50,
  loaded_executable_executable = 51,
  loaded_executable_devices = 52,
  loaded_executable_execute = 55,
  executable_deserialize_and_load = 56,
  buffer_destroy = 58,
  buffer_on_device_size = 64,
  buffer_is_deleted = 68,
  buffer_to_host = 70,
  buffer_ready_event = 72,
  buffer_unsafe_pointer = 73,
  executable_output_types = 90,
  executable_output_dims = 91,
  executable_memory_stats = 96,
  transfer_manager_destroy = 101,
  transfer_manager_transfer_data = 102,
  client_create_transfer_buffers = 103,
  transfer_manager_retrieve_buffer = 104,
};

enum class ErrorCode : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

enum class ValueKind : int { string = 0, int64 = 1, int64_list = 2, float32 = 3, boolean = 4 };

// Element types of buffers. Not the numbers of HLO's PrimitiveType.
enum class BufferType : int {
  invalid = 0,
  pred = 1,
  s32 = 4,
  s64 = 5,
  u8 = 6,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 13,
};

// What the plugin may assume of host memory that a buffer is made from.
enum class HostBufferSemantics : int {
  only_during_call = 0,          // copied before the call returns
  until_transfer_completes = 1,  // unchanged until the event
  immutable_zero_copy = 2,       // unchanged while the buffer lives, which may be that memory
};

// Begins every struct.
struct Head {
  std::size_t struct_size;
  void* extensions;
};

struct ApiVersion {
  Head head;
  int major;
  int minor;
};

// The table's beginning; function i lies at 40 + 8·i, and exists where that ends within struct_size.
struct Api {
  Head head;
  ApiVersion version;
};
using GetApi = const Api* (*)();
using AnyFunction = void (*)();
using Function = Error* (*)(void* arguments);
using VoidFunction = void (*)(void* arguments);  // error_destroy, error_message

// --- errors

struct ErrorDestroyArgs {
  static constexpr Slot kSlot = Slot::error_destroy;
  Head head;
  Error* error;
};

struct ErrorMessageArgs {
  static constexpr Slot kSlot = Slot::error_message;
  Head head;
  const Error* error;
  const char* message;  // out, lives as long as the error; not terminated
  std::size_t message_size;
};

struct ErrorCodeArgs {
  static constexpr Slot kSlot = Slot::error_code;
  Head head;
  const Error* error;
  ErrorCode code;  // out
};

// --- plugin

struct NamedValue {
  Head head;
  const char* name;
  std::size_t name_size;
  ValueKind kind;
  union {
    const char* string;
    std::int64_t int64;
    const std::int64_t* int64_list;
    float float32;
    bool boolean;
  } value;
  std::size_t value_size;  // length of a string or list, else 1
};

struct PluginInitializeArgs {
  static constexpr Slot kSlot = Slot::plugin_initialize;
  Head head;
};

struct PluginAttributesArgs {
  static constexpr Slot kSlot = Slot::plugin_attributes;
  Head head;
  const NamedValue* attributes;  // out
  std::size_t num_attributes;
};

// --- events

struct EventDestroyArgs {
  static constexpr Slot kSlot = Slot::event_destroy;
  Head head;
  Event* event;
};
struct EventIsReadyArgs {
  static constexpr Slot kSlot = Slot::event_is_ready;
  Head head;
  Event* event;
  bool is_ready;  // out
};
struct EventErrorArgs {  // the call returns the event's error
  static constexpr Slot kSlot = Slot::event_error;
  Head head;
  Event* event;
};
struct EventAwaitArgs {  // and so does this
  static constexpr Slot kSlot = Slot::event_await;
  Head head;
  Event* event;
};

// --- client

struct ClientCreateArgs {
  static constexpr Slot kSlot = Slot::client_create;
  Head head;
  const NamedValue* options;
  std::size_t num_options;
  void* kv_get_callback;  // key-value store of several processes; not used
  void* kv_get_argument;
  void* kv_put_callback;
  void* kv_put_argument;
  Client* client;  // out
  void* kv_try_get_callback;
  void* kv_try_get_argument;
};

struct ClientDestroyArgs {
  static constexpr Slot kSlot = Slot::client_destroy;
  Head head;
  Client* client;
};

struct ClientPlatformNameArgs {
  static constexpr Slot kSlot = Slot::client_platform_name;
  Head head;
  Client* client;
  const char* text;  // out, lives as long as the client
  std::size_t size;
};
struct ClientPlatformVersionArgs {
  static constexpr Slot kSlot = Slot::client_platform_version;
  Head head;
  Client* client;
  const char* text;  // out, lives as long as the client
  std::size_t size;
};

struct ClientAddressableDevicesArgs {
  static constexpr Slot kSlot = Slot::client_addressable_devices;
  Head head;
  Client* client;
  Device* const* devices;  // out, lives as long as the client
  std::size_t num_devices;
};

struct Program {
  Head head;
  const char* code;
  std::size_t code_size;
  const char* format;
  std::size_t format_size;
};

struct ClientCompileArgs {
  static constexpr Slot kSlot = Slot::client_compile;
  Head head;
  Client* client;
  const Program* program;
  const char* options;  // a serialized CompileOptionsProto
  std::size_t options_size;
  LoadedExecutable* executable;  // out
};

struct ClientBufferFromHostArgs {
  static constexpr Slot kSlot = Slot::client_buffer_from_host;
  Head head;
  Client* client;
  const void* data;
  BufferType type;
  const std::int64_t* dims;
  std::size_t num_dims;
  const std::int64_t* byte_strides;  // null: dense, row-major
  std::size_t num_byte_strides;
  HostBufferSemantics semantics;
  Device* device;
  Memory* memory;         // null: the device's default
  const void* layout;     // null: row-major
  Event* done_with_host;  // out
  Buffer* buffer;         // out
};

// --- devices

struct DeviceDescriptionIdArgs {
  static constexpr Slot kSlot = Slot::device_description_id;
  Head head;
  DeviceDescription* description;
  int id;  // out
};
struct DeviceDescriptionKindArgs {
  static constexpr Slot kSlot = Slot::device_description_kind;
  Head head;
  DeviceDescription* description;
  const char* text;  // out
  std::size_t size;
};
struct DeviceDescriptionToStringArgs {
  static constexpr Slot kSlot = Slot::device_description_to_string;
  Head head;
  DeviceDescription* description;
  const char* text;  // out
  std::size_t size;
};

struct DeviceDescriptionArgs {
  static constexpr Slot kSlot = Slot::device_description;
  Head head;
  Device* device;
  DeviceDescription* description;  // out
};
struct DeviceDefaultMemoryArgs {
  static constexpr Slot kSlot = Slot::device_default_memory;
  Head head;
  Device* device;
  Memory* memory;  // out
};

// A statistic that a plugin may lack.
struct OptionalStat {
  std::int64_t value;
  bool is_set;
};
struct DeviceMemoryStatsArgs {
  static constexpr Slot kSlot = Slot::device_memory_stats;
  Head head;
  Device* device;
  std::int64_t bytes_in_use;  // out, as is all that follows
  OptionalStat peak_bytes_in_use;
  OptionalStat num_allocs;
  OptionalStat largest_alloc_size;
  OptionalStat bytes_limit;
  OptionalStat bytes_reserved;
  OptionalStat peak_bytes_reserved;
  OptionalStat bytes_reservable_limit;
  OptionalStat largest_free_block_bytes;
  OptionalStat pool_bytes;
  OptionalStat peak_pool_bytes;
  OptionalStat peak_allocated_bytes;  // since 0.114
};

// --- executables

struct ExecutableDestroyArgs {
  static constexpr Slot kSlot = Slot::executable_destroy;
  Head head;
  Executable* executable;
};
struct ExecutableNumOutputsArgs {
  static constexpr Slot kSlot = Slot::executable_num_outputs;
  Head head;
  Executable* executable;
  std::size_t num_outputs;  // out
};

struct ExecutableOutputTypesArgs {
  static constexpr Slot kSlot = Slot::executable_output_types;
  Head head;
  Executable* executable;
  const BufferType* types;  // out, lives as long as the executable
  std::size_t num_types;
};
struct ExecutableOutputDimsArgs {
  static constexpr Slot kSlot = Slot::executable_output_dims;
  Head head;
  Executable* executable;
  std::size_t num_outputs;       // out, as is all that follows
  const std::int64_t* dims;      // of all outputs, one after the other
  const std::size_t* dim_sizes;  // rank of each output
};

struct ExecutableMemoryStatsArgs {
  static constexpr Slot kSlot = Slot::executable_memory_stats;
  Head head;
  Executable* executable;
  std::int64_t generated_code_bytes;  // out, as is all that follows
  std::int64_t argument_bytes;
  std::int64_t output_bytes;
  std::int64_t alias_bytes;
  std::int64_t temp_bytes;
  std::int64_t host_generated_code_bytes;
  std::int64_t host_argument_bytes;
  std::int64_t host_output_bytes;
  std::int64_t host_alias_bytes;
  std::int64_t host_temp_bytes;
  std::int64_t peak_memory_bytes;
  std::int64_t total_bytes;
  std::int64_t total_allocation_bytes;  // these three since 0.114
  std::int64_t indefinite_allocations;
  std::int64_t peak_unpadded_heap_bytes;
};

struct ExecutableSerializeArgs {
  static constexpr Slot kSlot = Slot::executable_serialize;
  Head head;
  const Executable* executable;
  const char* bytes;  // out, as is all that follows
  std::size_t bytes_size;
  SerializedExecutable* serialized;        // owns the bytes
  void (*deleter)(SerializedExecutable*);  // to be called once
};

struct ExecutableDeserializeArgs {
  static constexpr Slot kSlot = Slot::executable_deserialize_and_load;
  Head head;
  Client* client;
  const char* bytes;
  std::size_t bytes_size;
  LoadedExecutable* executable;    // out
  const char* overridden_options;  // null: those it was compiled with
  std::size_t overridden_options_size;
  void* load_options;  // since 0.114
};

struct LoadedExecutableDestroyArgs {
  static constexpr Slot kSlot = Slot::loaded_executable_destroy;
  Head head;
  LoadedExecutable* executable;
};
struct LoadedExecutableExecutableArgs {
  static constexpr Slot kSlot = Slot::loaded_executable_executable;
  Head head;
  LoadedExecutable* loaded;
  Executable* executable;  // out, to be destroyed
};
struct LoadedExecutableDevicesArgs {
  static constexpr Slot kSlot = Slot::loaded_executable_devices;
  Head head;
  LoadedExecutable* executable;
  Device* const* devices;  // out, lives as long as the executable
  std::size_t num_devices;
};

struct ExecuteOptions {
  Head head;
  void* send_callbacks;
  void* recv_callbacks;
  std::size_t num_send_ops;
  std::size_t num_recv_ops;
  int launch_id;
  const std::int64_t* non_donatable_indices;
  std::size_t num_non_donatable_indices;
  void* context;
  const char* call_location;
  std::size_t num_tasks;
  int* task_ids;
  std::int64_t* incarnation_ids;
  void* multi_slice_config;  // these four since 0.114
  bool use_major_to_minor_data_layout_for_callbacks;
  void* hlo_output_callbacks;
  std::size_t num_hlo_output_callbacks;
};

struct LoadedExecutableExecuteArgs {
  static constexpr Slot kSlot = Slot::loaded_executable_execute;
  Head head;
  LoadedExecutable* executable;
  const ExecuteOptions* options;
  Buffer* const* const* argument_lists;  // [num_devices][num_arguments]
  std::size_t num_devices;
  std::size_t num_arguments;
  Buffer** const* output_lists;    // [num_devices][num_outputs], filled
  Event** device_complete_events;  // [num_devices], filled
  Device* execute_device;          // null: where it was compiled for
};

// --- buffers

struct BufferDestroyArgs {
  static constexpr Slot kSlot = Slot::buffer_destroy;
  Head head;
  Buffer* buffer;
};
struct BufferOnDeviceSizeArgs {
  static constexpr Slot kSlot = Slot::buffer_on_device_size;
  Head head;
  Buffer* buffer;
  std::size_t bytes;  // out
};
struct BufferIsDeletedArgs {
  static constexpr Slot kSlot = Slot::buffer_is_deleted;
  Head head;
  Buffer* buffer;
  bool is_deleted;  // out
};
struct BufferReadyEventArgs {
  static constexpr Slot kSlot = Slot::buffer_ready_event;
  Head head;
  Buffer* buffer;
  Event* event;  // out
};
struct BufferUnsafePointerArgs {
  static constexpr Slot kSlot = Slot::buffer_unsafe_pointer;
  Head head;
  Buffer* buffer;
  std::uintptr_t pointer;  // out
};

struct BufferToHostArgs {
  static constexpr Slot kSlot = Slot::buffer_to_host;
  Head head;
  Buffer* buffer;
  const void* layout;  // null: row-major
  void* destination;   // null: only the size is asked for
  std::size_t size;    // in; out where destination is null
  Event* event;        // out
};

// --- buffers that are filled in pieces

struct ShapeSpec {
  Head head;
  const std::int64_t* dims;
  std::size_t num_dims;
  BufferType type;
};

struct ClientCreateTransferBuffersArgs {
  static constexpr Slot kSlot = Slot::client_create_transfer_buffers;
  Head head;
  Client* client;
  const ShapeSpec* shapes;
  std::size_t num_shapes;
  const void* layouts;  // null: row-major
  std::size_t num_layouts;
  Memory* memory;
  TransferManager* manager;  // out
};

struct TransferManagerDestroyArgs {
  static constexpr Slot kSlot = Slot::transfer_manager_destroy;
  Head head;
  TransferManager* manager;
};
struct TransferManagerTransferDataArgs {
  static constexpr Slot kSlot = Slot::transfer_manager_transfer_data;
  Head head;
  TransferManager* manager;
  int buffer_index;
  const void* data;
  std::int64_t offset;
  std::int64_t size;
  bool is_last;
  Event* done;  // out
};
struct TransferManagerRetrieveBufferArgs {
  static constexpr Slot kSlot = Slot::transfer_manager_retrieve_buffer;
  Head head;
  TransferManager* manager;
  int buffer_index;
  Buffer* buffer;  // out
};

}  // namespace perfuse::pjrt::abi
