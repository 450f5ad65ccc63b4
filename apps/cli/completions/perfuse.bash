# bash completion of perfuse

# ORG/NAME of the models in the local cache of the Hugging Face hub
_perfuse_hub() {
  local hub=${HF_HUB_CACHE:-${HF_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/huggingface}/hub} folder
  for folder in "$hub"/models--*--*/; do
    [[ -d $folder ]] || continue
    folder=${folder%/} folder=${folder##*/models--}
    printf '%s\n' "${folder/--//}"
  done
}

_perfuse() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local commands="generate inspect devices schedulers completions"
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current")
    return
  fi
  case $previous in
    -m | --model)
      mapfile -t COMPREPLY < <(compgen -W "emoji-pixart $(_perfuse_hub)" -- "$current"; compgen -d -- "$current")
      return
      ;;
    -o | --output | --prompt-file | --like | --request | --dump-tensors)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --scheduler)
      mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" schedulers 2>/dev/null)" -- "$current")
      return
      ;;
    --device)
      mapfile -t COMPREPLY < <(compgen -W "cpu cuda rocm xpu tpu mps mlu neuron" -- "$current")
      return
      ;;
    --dtype)
      mapfile -t COMPREPLY < <(compgen -W "f32 bf16 f16" -- "$current")
      return
      ;;
    --granularity)
      mapfile -t COMPREPLY < <(compgen -W "op block whole" -- "$current")
      return
      ;;
    --cfg)
      mapfile -t COMPREPLY < <(compgen -W "automatic sequential batched parallel" -- "$current")
      return
      ;;
    --format)
      local formats="png jpeg"
      [[ ${COMP_WORDS[1]} == inspect ]] && formats="text dot"
      mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$current")
      return
      ;;
    --graph)
      mapfile -t COMPREPLY < <(compgen -W "text_encoder transformer vae" -- "$current")
      return
      ;;
    --negative-prompt | --seed | --steps | --guidance-scale | --height | --width | --num-images | --timesteps | \
      --sigmas | --max-sequence-length | --variant | --threads | --tap)
      return
      ;;
  esac
  local options=""
  case ${COMP_WORDS[1]} in
    generate)
      options="--prompt-file --negative-prompt --seed --steps --guidance-scale --height --width --num-images --scheduler
        --timesteps --sigmas --max-sequence-length --no-resolution-binning --model --variant --device --dtype
        --granularity --cfg --threads --output --format --request --like --dump-tensors --tap --json --explain --quiet
        --verbose --show --no-show --help"
      ;;
    inspect) options="--variant --device --dtype --height --width --graph --format --json --help" ;;
    devices) options="--json --help" ;;
    schedulers) options="--help" ;;
    completions) options="bash zsh fish --help" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  if [[ ${COMP_WORDS[1]} == inspect && $current != -* ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_perfuse_hub)" -- "$current"; compgen -d -- "$current")
  fi
}
complete -o filenames -F _perfuse perfuse
