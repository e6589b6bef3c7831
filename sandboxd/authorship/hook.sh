#!/bin/sh
# A hook of git: runs the repository's own of the same name, and ends commit
# messages with the trailers of "git config sallyport.trailer", each once. git
# runs some hooks many times a command, so this starts few processes.
name=${0##*/}
here=${0%/*}
newline='
'

# find_own sets own to the repository's own hook: in the last core.hooksPath
# that is set anywhere but in the environment, or in the place where git looks
# without one.
find_own() {
	own=
	while IFS='	' read -r scope value; do
		if [ "$scope" != command ] && [ -n "$value" ] && [ "$value" != "$here" ]; then
			own=$value
		fi
	done <<END
$(git config --show-scope --type=path --get-all core.hooksPath </dev/null 2>/dev/null)
END
	if [ -z "$own" ]; then
		own=${GIT_DIR:-.git}
		if [ ! -d "$own" ] || [ -f "$own/commondir" ]; then
			own=$(git rev-parse --git-common-dir </dev/null 2>/dev/null)
		fi
		own=$own/hooks
	fi
	own=$own/$name
}

# is_empty FILE says whether a message has no line but comments, above the
# changes that "commit -v" shows: to stamp it would make a commit of what its
# writer gave up.
is_empty() {
	[ -z "$(sed '/^. -\{20,\} >8 -\{20,\}$/,$d' <"$1" | git stripspace --strip-comments)" ]
}

# count FILE LINE sets times to how often LINE is in FILE, and last to where.
count() {
	number=0
	last=0
	times=0
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1))
		if [ "$line" = "$2" ]; then
			last=$number
			times=$((times + 1))
		fi
	done <"$1"
}

# drop FILE LINE NUMBER drops each LINE of FILE but the one at NUMBER.
drop() {
	number=0
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1))
		if [ "$line" != "$2" ] || [ "$number" = "$3" ]; then
			printf '%s\n' "$line"
		fi
	done <"$1" >"$1.sallyport" && cat "$1.sallyport" >"$1"
	rm -f "$1.sallyport"
}

# stamp FILE ends the message in FILE with the trailers that it doesn't end
# with. Squashing leaves copies with every message but the last: they go.
stamp() {
	file=$1
	trailers=$(git config --get-all sallyport.trailer </dev/null 2>/dev/null)
	[ -n "$trailers" ] || return 0
	present=$newline$(git interpret-trailers --no-divider --parse <"$file")$newline
	set --
	while IFS= read -r trailer; do
		count "$file" "$trailer"
		case $present in
		*"$newline$trailer$newline"*) ;;
		*)
			last=0
			set -- "$@" --trailer "$trailer"
			;;
		esac
		if [ "$times" -gt 1 ] || { [ "$times" = 1 ] && [ "$last" = 0 ]; }; then
			drop "$file" "$trailer" "$last"
		fi
	done <<END
$trailers
END
	if [ $# -gt 0 ] && ! is_empty "$file"; then
		git interpret-trailers --in-place --no-divider --where end --if-exists addIfDifferent --if-missing add "$@" "$file"
	fi
}

# untouched FILE says whether the message in FILE is the template that
# prepare-commit-msg saw: git takes that for given up as well.
untouched() {
	[ -f "$1.template" ] || return
	template=$(cat "$1.template")
	rm -f "$1.template"
	[ "$template" = "$(git stripspace --strip-comments <"$1")" ]
}

find_own
case $name in
prepare-commit-msg | commit-msg)
	if [ -f "$own" ] && [ -x "$own" ]; then
		"$own" "$@" || exit
	fi
	if [ "$name" = commit-msg ]; then
		untouched "$1" || stamp "$1"
	elif [ "$2" = template ]; then
		git stripspace --strip-comments <"$1" >"$1.template"
	else
		rm -f "$1.template"
		stamp "$1"
	fi
	;;
*)
	if [ -f "$own" ] && [ -x "$own" ]; then
		exec "$own" "$@"
	fi
	;;
esac
