# Stays with one engine process and leaves word of how it ended.
# usage: sh shim.sh FOLDER ATTEMPT PROGRAM [ARGUMENT ...]
#
# The starter gives it a session of its own, /dev/null and files as standard streams, the CPU mask, and on descriptor 9 the
# locked `.lock` of FOLDER; no other descriptor. Everything that the engine starts inherits that descriptor, so the lock is held for as long as
# anything of the attempt lives. Only builtins are used: the engine is the one program that is executed.
#
# The braces make the shell read all of this before it runs any of it: an upgrade can't change a running shim.
{
    # A signal to the group is meant for the engine. A trap, unlike an ignored signal, is not inherited by what is started.
    trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM

    cd "$1" || exit 125
    mdactors_claim=attempts/$2
    shift 2

    # Who runs this attempt: without this record nothing is started, with it the attempt counts as one that ran.
    read -r mdactors_stat </proc/self/stat || exit 125
    read -r mdactors_boot </proc/sys/kernel/random/boot_id || exit 125
    printf '%s\n' "$mdactors_boot" "$mdactors_stat" >"$mdactors_claim/shim" || exit 125

    unset PWD OLDPWD SHLVL # the shell's own additions: the engine gets the environment that was ordered
    "$@"
    mdactors_code=$?

    # A record counts only with its last line, so a reader takes it whole or not at all; renaming would cost a process more.
    # On a full disk no new file can be filled, but the block of the first record has room left.
    { echo "$mdactors_code" && times && echo end; } >"$mdactors_claim/exit" ||
        { echo "$mdactors_code" && times && echo end; } >>"$mdactors_claim/shim"
    exit 0
}
