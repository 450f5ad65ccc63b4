# bash completion of perfuse
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
      mapfile -t COMPREPLY < <(compgen -W "emoji-pixart" -- "$current"; compgen -d -- "$current")
      return
      ;;
    -o | --output | --like | --request | --dump-tensors)
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
      mapfile -t COMPREPLY < <(compgen -W "text dot" -- "$current")
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
      options="--negative-prompt --seed --steps --guidance-scale --height --width --num-images --scheduler
        --timesteps --sigmas --max-sequence-length --no-resolution-binning --model --variant --device --dtype
        --granularity --cfg --threads --output --request --like --dump-tensors --tap --json --explain --quiet
        --verbose --show --no-show --help"
      ;;
    inspect) options="--variant --device --dtype --height --width --graph --format --json --help" ;;
    devices) options="--json --help" ;;
    schedulers) options="--help" ;;
    completions) options="bash zsh fish --help" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  if [[ ${COMP_WORDS[1]} == inspect && $current != -* ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current")
  fi
}
complete -o filenames -F _perfuse perfuse
