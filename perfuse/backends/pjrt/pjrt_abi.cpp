// The layouts of pjrt_abi.h, number by number. Offset 0 holds the head: a size and a list of extensions.
#include "perfuse/backends/pjrt/pjrt_abi.h"

namespace perfuse::pjrt::abi {

static_assert(sizeof(Head) == 16 && offsetof(Head, struct_size) == 0 && offsetof(Head, extensions) == 8);
static_assert(sizeof(ApiVersion) == 24 && offsetof(ApiVersion, major) == 16 &&
              offsetof(ApiVersion, minor) == 20);
static_assert(sizeof(Api) == 40 && offsetof(Api, version) == 16);
static_assert(sizeof(ErrorDestroyArgs) == 24 && offsetof(ErrorDestroyArgs, error) == 16);
static_assert(sizeof(ErrorMessageArgs) == 40 && offsetof(ErrorMessageArgs, error) == 16 &&
              offsetof(ErrorMessageArgs, message) == 24 && offsetof(ErrorMessageArgs, message_size) == 32);
static_assert(sizeof(ErrorCodeArgs) == 32 && offsetof(ErrorCodeArgs, error) == 16 &&
              offsetof(ErrorCodeArgs, code) == 24);
static_assert(sizeof(NamedValue) == 56 && offsetof(NamedValue, name) == 16 &&
              offsetof(NamedValue, name_size) == 24 && offsetof(NamedValue, kind) == 32 &&
              offsetof(NamedValue, value) == 40 && offsetof(NamedValue, value_size) == 48);
static_assert(sizeof(PluginInitializeArgs) == 16);
static_assert(sizeof(PluginAttributesArgs) == 32 && offsetof(PluginAttributesArgs, attributes) == 16 &&
              offsetof(PluginAttributesArgs, num_attributes) == 24);
static_assert(sizeof(EventDestroyArgs) == 24 && offsetof(EventDestroyArgs, event) == 16);
static_assert(sizeof(EventIsReadyArgs) == 32 && offsetof(EventIsReadyArgs, event) == 16 &&
              offsetof(EventIsReadyArgs, is_ready) == 24);
static_assert(sizeof(EventErrorArgs) == 24 && offsetof(EventErrorArgs, event) == 16);
static_assert(sizeof(EventAwaitArgs) == 24 && offsetof(EventAwaitArgs, event) == 16);
static_assert(sizeof(ClientCreateArgs) == 88 && offsetof(ClientCreateArgs, options) == 16 &&
              offsetof(ClientCreateArgs, num_options) == 24 &&
              offsetof(ClientCreateArgs, kv_get_callback) == 32 &&
              offsetof(ClientCreateArgs, kv_get_argument) == 40 &&
              offsetof(ClientCreateArgs, kv_put_callback) == 48 &&
              offsetof(ClientCreateArgs, kv_put_argument) == 56 && offsetof(ClientCreateArgs, client) == 64 &&
              offsetof(ClientCreateArgs, kv_try_get_callback) == 72 &&
              offsetof(ClientCreateArgs, kv_try_get_argument) == 80);
static_assert(sizeof(ClientDestroyArgs) == 24 && offsetof(ClientDestroyArgs, client) == 16);
static_assert(sizeof(ClientPlatformNameArgs) == 40 && offsetof(ClientPlatformNameArgs, client) == 16 &&
              offsetof(ClientPlatformNameArgs, text) == 24 && offsetof(ClientPlatformNameArgs, size) == 32);
static_assert(sizeof(ClientPlatformVersionArgs) == 40 && offsetof(ClientPlatformVersionArgs, client) == 16 &&
              offsetof(ClientPlatformVersionArgs, text) == 24 &&
              offsetof(ClientPlatformVersionArgs, size) == 32);
static_assert(sizeof(ClientAddressableDevicesArgs) == 40 &&
              offsetof(ClientAddressableDevicesArgs, client) == 16 &&
              offsetof(ClientAddressableDevicesArgs, devices) == 24 &&
              offsetof(ClientAddressableDevicesArgs, num_devices) == 32);
static_assert(sizeof(Program) == 48 && offsetof(Program, code) == 16 && offsetof(Program, code_size) == 24 &&
              offsetof(Program, format) == 32 && offsetof(Program, format_size) == 40);
static_assert(sizeof(ClientCompileArgs) == 56 && offsetof(ClientCompileArgs, client) == 16 &&
              offsetof(ClientCompileArgs, program) == 24 && offsetof(ClientCompileArgs, options) == 32 &&
              offsetof(ClientCompileArgs, options_size) == 40 &&
              offsetof(ClientCompileArgs, executable) == 48);
static_assert(
    sizeof(ClientBufferFromHostArgs) == 120 && offsetof(ClientBufferFromHostArgs, client) == 16 &&
    offsetof(ClientBufferFromHostArgs, data) == 24 && offsetof(ClientBufferFromHostArgs, type) == 32 &&
    offsetof(ClientBufferFromHostArgs, dims) == 40 && offsetof(ClientBufferFromHostArgs, num_dims) == 48 &&
    offsetof(ClientBufferFromHostArgs, byte_strides) == 56 &&
    offsetof(ClientBufferFromHostArgs, num_byte_strides) == 64 &&
    offsetof(ClientBufferFromHostArgs, semantics) == 72 && offsetof(ClientBufferFromHostArgs, device) == 80 &&
    offsetof(ClientBufferFromHostArgs, memory) == 88 && offsetof(ClientBufferFromHostArgs, layout) == 96 &&
    offsetof(ClientBufferFromHostArgs, done_with_host) == 104 &&
    offsetof(ClientBufferFromHostArgs, buffer) == 112);
static_assert(sizeof(DeviceDescriptionIdArgs) == 32 && offsetof(DeviceDescriptionIdArgs, description) == 16 &&
              offsetof(DeviceDescriptionIdArgs, id) == 24);
static_assert(sizeof(DeviceDescriptionKindArgs) == 40 &&
              offsetof(DeviceDescriptionKindArgs, description) == 16 &&
              offsetof(DeviceDescriptionKindArgs, text) == 24 &&
              offsetof(DeviceDescriptionKindArgs, size) == 32);
static_assert(sizeof(DeviceDescriptionToStringArgs) == 40 &&
              offsetof(DeviceDescriptionToStringArgs, description) == 16 &&
              offsetof(DeviceDescriptionToStringArgs, text) == 24 &&
              offsetof(DeviceDescriptionToStringArgs, size) == 32);
static_assert(sizeof(DeviceDescriptionArgs) == 32 && offsetof(DeviceDescriptionArgs, device) == 16 &&
              offsetof(DeviceDescriptionArgs, description) == 24);
static_assert(sizeof(DeviceDefaultMemoryArgs) == 32 && offsetof(DeviceDefaultMemoryArgs, device) == 16 &&
              offsetof(DeviceDefaultMemoryArgs, memory) == 24);
static_assert(sizeof(OptionalStat) == 16 && offsetof(OptionalStat, value) == 0 &&
              offsetof(OptionalStat, is_set) == 8);
static_assert(sizeof(DeviceMemoryStatsArgs) == 208 && offsetof(DeviceMemoryStatsArgs, device) == 16 &&
              offsetof(DeviceMemoryStatsArgs, bytes_in_use) == 24 &&
              offsetof(DeviceMemoryStatsArgs, peak_bytes_in_use) == 32 &&
              offsetof(DeviceMemoryStatsArgs, num_allocs) == 48 &&
              offsetof(DeviceMemoryStatsArgs, largest_alloc_size) == 64 &&
              offsetof(DeviceMemoryStatsArgs, bytes_limit) == 80 &&
              offsetof(DeviceMemoryStatsArgs, bytes_reserved) == 96 &&
              offsetof(DeviceMemoryStatsArgs, peak_bytes_reserved) == 112 &&
              offsetof(DeviceMemoryStatsArgs, bytes_reservable_limit) == 128 &&
              offsetof(DeviceMemoryStatsArgs, largest_free_block_bytes) == 144 &&
              offsetof(DeviceMemoryStatsArgs, pool_bytes) == 160 &&
              offsetof(DeviceMemoryStatsArgs, peak_pool_bytes) == 176 &&
              offsetof(DeviceMemoryStatsArgs, peak_allocated_bytes) == 192);
static_assert(sizeof(ExecutableDestroyArgs) == 24 && offsetof(ExecutableDestroyArgs, executable) == 16);
static_assert(sizeof(ExecutableNumOutputsArgs) == 32 &&
              offsetof(ExecutableNumOutputsArgs, executable) == 16 &&
              offsetof(ExecutableNumOutputsArgs, num_outputs) == 24);
static_assert(sizeof(ExecutableOutputTypesArgs) == 40 &&
              offsetof(ExecutableOutputTypesArgs, executable) == 16 &&
              offsetof(ExecutableOutputTypesArgs, types) == 24 &&
              offsetof(ExecutableOutputTypesArgs, num_types) == 32);
static_assert(sizeof(ExecutableOutputDimsArgs) == 48 &&
              offsetof(ExecutableOutputDimsArgs, executable) == 16 &&
              offsetof(ExecutableOutputDimsArgs, num_outputs) == 24 &&
              offsetof(ExecutableOutputDimsArgs, dims) == 32 &&
              offsetof(ExecutableOutputDimsArgs, dim_sizes) == 40);
static_assert(sizeof(ExecutableMemoryStatsArgs) == 144 &&
              offsetof(ExecutableMemoryStatsArgs, executable) == 16 &&
              offsetof(ExecutableMemoryStatsArgs, generated_code_bytes) == 24 &&
              offsetof(ExecutableMemoryStatsArgs, argument_bytes) == 32 &&
              offsetof(ExecutableMemoryStatsArgs, output_bytes) == 40 &&
              offsetof(ExecutableMemoryStatsArgs, alias_bytes) == 48 &&
              offsetof(ExecutableMemoryStatsArgs, temp_bytes) == 56 &&
              offsetof(ExecutableMemoryStatsArgs, host_generated_code_bytes) == 64 &&
              offsetof(ExecutableMemoryStatsArgs, host_argument_bytes) == 72 &&
              offsetof(ExecutableMemoryStatsArgs, host_output_bytes) == 80 &&
              offsetof(ExecutableMemoryStatsArgs, host_alias_bytes) == 88 &&
              offsetof(ExecutableMemoryStatsArgs, host_temp_bytes) == 96 &&
              offsetof(ExecutableMemoryStatsArgs, peak_memory_bytes) == 104 &&
              offsetof(ExecutableMemoryStatsArgs, total_bytes) == 112 &&
              offsetof(ExecutableMemoryStatsArgs, total_allocation_bytes) == 120 &&
              offsetof(ExecutableMemoryStatsArgs, indefinite_allocations) == 128 &&
              offsetof(ExecutableMemoryStatsArgs, peak_unpadded_heap_bytes) == 136);
static_assert(sizeof(ExecutableSerializeArgs) == 56 && offsetof(ExecutableSerializeArgs, executable) == 16 &&
              offsetof(ExecutableSerializeArgs, bytes) == 24 &&
              offsetof(ExecutableSerializeArgs, bytes_size) == 32 &&
              offsetof(ExecutableSerializeArgs, serialized) == 40 &&
              offsetof(ExecutableSerializeArgs, deleter) == 48);
static_assert(sizeof(ExecutableDeserializeArgs) == 72 && offsetof(ExecutableDeserializeArgs, client) == 16 &&
              offsetof(ExecutableDeserializeArgs, bytes) == 24 &&
              offsetof(ExecutableDeserializeArgs, bytes_size) == 32 &&
              offsetof(ExecutableDeserializeArgs, executable) == 40 &&
              offsetof(ExecutableDeserializeArgs, overridden_options) == 48 &&
              offsetof(ExecutableDeserializeArgs, overridden_options_size) == 56 &&
              offsetof(ExecutableDeserializeArgs, load_options) == 64);
static_assert(sizeof(LoadedExecutableDestroyArgs) == 24 &&
              offsetof(LoadedExecutableDestroyArgs, executable) == 16);
static_assert(sizeof(LoadedExecutableExecutableArgs) == 32 &&
              offsetof(LoadedExecutableExecutableArgs, loaded) == 16 &&
              offsetof(LoadedExecutableExecutableArgs, executable) == 24);
static_assert(sizeof(LoadedExecutableDevicesArgs) == 40 &&
              offsetof(LoadedExecutableDevicesArgs, executable) == 16 &&
              offsetof(LoadedExecutableDevicesArgs, devices) == 24 &&
              offsetof(LoadedExecutableDevicesArgs, num_devices) == 32);
static_assert(sizeof(ExecuteOptions) == 144 && offsetof(ExecuteOptions, send_callbacks) == 16 &&
              offsetof(ExecuteOptions, recv_callbacks) == 24 &&
              offsetof(ExecuteOptions, num_send_ops) == 32 && offsetof(ExecuteOptions, num_recv_ops) == 40 &&
              offsetof(ExecuteOptions, launch_id) == 48 &&
              offsetof(ExecuteOptions, non_donatable_indices) == 56 &&
              offsetof(ExecuteOptions, num_non_donatable_indices) == 64 &&
              offsetof(ExecuteOptions, context) == 72 && offsetof(ExecuteOptions, call_location) == 80 &&
              offsetof(ExecuteOptions, num_tasks) == 88 && offsetof(ExecuteOptions, task_ids) == 96 &&
              offsetof(ExecuteOptions, incarnation_ids) == 104 &&
              offsetof(ExecuteOptions, multi_slice_config) == 112 &&
              offsetof(ExecuteOptions, use_major_to_minor_data_layout_for_callbacks) == 120 &&
              offsetof(ExecuteOptions, hlo_output_callbacks) == 128 &&
              offsetof(ExecuteOptions, num_hlo_output_callbacks) == 136);
static_assert(sizeof(LoadedExecutableExecuteArgs) == 80 &&
              offsetof(LoadedExecutableExecuteArgs, executable) == 16 &&
              offsetof(LoadedExecutableExecuteArgs, options) == 24 &&
              offsetof(LoadedExecutableExecuteArgs, argument_lists) == 32 &&
              offsetof(LoadedExecutableExecuteArgs, num_devices) == 40 &&
              offsetof(LoadedExecutableExecuteArgs, num_arguments) == 48 &&
              offsetof(LoadedExecutableExecuteArgs, output_lists) == 56 &&
              offsetof(LoadedExecutableExecuteArgs, device_complete_events) == 64 &&
              offsetof(LoadedExecutableExecuteArgs, execute_device) == 72);
static_assert(sizeof(BufferDestroyArgs) == 24 && offsetof(BufferDestroyArgs, buffer) == 16);
static_assert(sizeof(BufferOnDeviceSizeArgs) == 32 && offsetof(BufferOnDeviceSizeArgs, buffer) == 16 &&
              offsetof(BufferOnDeviceSizeArgs, bytes) == 24);
static_assert(sizeof(BufferIsDeletedArgs) == 32 && offsetof(BufferIsDeletedArgs, buffer) == 16 &&
              offsetof(BufferIsDeletedArgs, is_deleted) == 24);
static_assert(sizeof(BufferReadyEventArgs) == 32 && offsetof(BufferReadyEventArgs, buffer) == 16 &&
              offsetof(BufferReadyEventArgs, event) == 24);
static_assert(sizeof(BufferUnsafePointerArgs) == 32 && offsetof(BufferUnsafePointerArgs, buffer) == 16 &&
              offsetof(BufferUnsafePointerArgs, pointer) == 24);
static_assert(sizeof(BufferToHostArgs) == 56 && offsetof(BufferToHostArgs, buffer) == 16 &&
              offsetof(BufferToHostArgs, layout) == 24 && offsetof(BufferToHostArgs, destination) == 32 &&
              offsetof(BufferToHostArgs, size) == 40 && offsetof(BufferToHostArgs, event) == 48);
static_assert(sizeof(ShapeSpec) == 40 && offsetof(ShapeSpec, dims) == 16 &&
              offsetof(ShapeSpec, num_dims) == 24 && offsetof(ShapeSpec, type) == 32);
static_assert(sizeof(ClientCreateTransferBuffersArgs) == 72 &&
              offsetof(ClientCreateTransferBuffersArgs, client) == 16 &&
              offsetof(ClientCreateTransferBuffersArgs, shapes) == 24 &&
              offsetof(ClientCreateTransferBuffersArgs, num_shapes) == 32 &&
              offsetof(ClientCreateTransferBuffersArgs, layouts) == 40 &&
              offsetof(ClientCreateTransferBuffersArgs, num_layouts) == 48 &&
              offsetof(ClientCreateTransferBuffersArgs, memory) == 56 &&
              offsetof(ClientCreateTransferBuffersArgs, manager) == 64);
static_assert(sizeof(TransferManagerDestroyArgs) == 24 &&
              offsetof(TransferManagerDestroyArgs, manager) == 16);
static_assert(sizeof(TransferManagerTransferDataArgs) == 72 &&
              offsetof(TransferManagerTransferDataArgs, manager) == 16 &&
              offsetof(TransferManagerTransferDataArgs, buffer_index) == 24 &&
              offsetof(TransferManagerTransferDataArgs, data) == 32 &&
              offsetof(TransferManagerTransferDataArgs, offset) == 40 &&
              offsetof(TransferManagerTransferDataArgs, size) == 48 &&
              offsetof(TransferManagerTransferDataArgs, is_last) == 56 &&
              offsetof(TransferManagerTransferDataArgs, done) == 64);
static_assert(sizeof(TransferManagerRetrieveBufferArgs) == 40 &&
              offsetof(TransferManagerRetrieveBufferArgs, manager) == 16 &&
              offsetof(TransferManagerRetrieveBufferArgs, buffer_index) == 24 &&
              offsetof(TransferManagerRetrieveBufferArgs, buffer) == 32);

}  // namespace perfuse::pjrt::abi
