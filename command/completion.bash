# bash completion for lockword(1)

_lockword() {
    local subcommands='run list show top deadlocks wait break remove help' options word name i where=()
    # Not COMP_WORDS: bash ends a word at each ':', and so would cut the servers after --at.
    local line=${COMP_LINE:0:COMP_POINT} words last current previous
    COMPREPLY=()
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    last=$((${#words[@]} - 1))
    current=${words[last]} previous=${words[last - 1]}
    case ${words[1]} in
    run) options='--region --at --ttl --shared --exclusive --permits --timeout --wait --try --nonblock --nb --conflict-exit-code --once --verbose' ;;
    wait) options='--region --at --ttl --shared --exclusive --timeout --wait --try --nonblock --nb --conflict-exit-code' ;;
    list | show) options='--region --at --json' ;;
    deadlocks) options='--region --json' ;;
    break) options='--region --at --signal' ;;
    top | remove) options='--region' ;;
    esac
    if ((last == 1)); then
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
    --at | --ttl | --permits | -w | --timeout | --wait | -E | --conflict-exit-code) return ;;
    esac
    # The first word that is no option, and no option's argument, is the name.
    for ((i = 2; i < last; i++)); do
        word=${words[i]}
        case $word in
        --region | --at)
            ((i++))
            where=("$word" "${words[i]}")
            ;;
        --ttl | --permits | --signal | -w | --timeout | --wait | -E | --conflict-exit-code) ((i++)) ;;
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
        # Not compgen -W: it would run the $(…) in a name, which others may have chosen.
        while read -r word _; do
            [[ $word == "$current"* ]] && printf -v word %q "$word" && COMPREPLY+=("$word")
        done < <(timeout 2 lockword list "${where[@]}" 2>/dev/null | tail -n +2)
    elif [[ ${words[1]} == run ]]; then
        ((last == name + 1)) && mapfile -t COMPREPLY < <(compgen -c -- "$current") ||
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -F _lockword lockword
