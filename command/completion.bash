# bash completion for lockword(1)

_lockword() {
    local subcommands='run list show top deadlocks wait break remove' options word name i
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    case ${COMP_WORDS[1]} in
    run) options='--region --at --ttl --shared --exclusive --permits --timeout --try --conflict-exit-code --once --verbose' ;;
    wait) options='--region --shared --exclusive --timeout --try --conflict-exit-code' ;;
    list | show) options='--region --json' ;;
    deadlocks) options='--region --json' ;;
    break) options='--region --signal' ;;
    top | remove) options='--region' ;;
    esac
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$subcommands --help --version" -- "$current")
        return
    fi
    case $previous in
    --region)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --signal)
        mapfile -t COMPREPLY < <(compgen -W 'TERM KILL INT HUP QUIT ABRT' -- "$current")
        return
        ;;
    --at | --ttl | --permits | -w | --timeout | -E | --conflict-exit-code) return ;;
    esac
    # The first word that is no option, and no option's argument, is the name.
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --region | --at | --ttl | --permits | --signal | -w | --timeout | -E | --conflict-exit-code) ((i++)) ;;
        -*) ;;
        *)
            name=$i
            break
            ;;
        esac
    done
    if [[ $current == -* && ! $name ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    elif [[ ! $name ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(lockword list 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$current")
    elif [[ ${COMP_WORDS[1]} == run ]]; then
        ((COMP_CWORD == name + 1)) && mapfile -t COMPREPLY < <(compgen -c -- "$current") ||
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -F _lockword lockword
