// Everything a program that uses perfuse needs.
#pragma once

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"
#include "perfuse/core/threads.h"
#include "perfuse/image/image.h"
#include "perfuse/pipelines/arguments.h"
#include "perfuse/pipelines/diffusion_pipeline.h"
#include "perfuse/pipelines/pixart.h"
#include "perfuse/runtime/device.h"
#include "perfuse/runtime/traits.h"
#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/random.h"
#include "perfuse/tensor/safetensors.h"
#include "perfuse/tensor/tensor.h"
#include "perfuse/version.h"
