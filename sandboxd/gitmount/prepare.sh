# prepare.sh DIR [UID GID] makes DIR, and gives it to UID and GID if it is empty.
# Without them it prints those of the user who runs it, for another try as root.
set -f
dir=$1
rest=${dir#/}
at=
while [ -n "$rest" ]; do
	at=$at/${rest%%/*}
	case $rest in
	*/*) rest=${rest#*/} ;;
	*) rest= ;;
	esac
	if [ -L "$at" ]; then
		echo "$at" >&2
		exit 11
	fi
	if [ -e "$at" ] && [ ! -d "$at" ]; then
		echo "$at" >&2
		exit 12
	fi
done
if [ $# = 1 ]; then
	echo "$(id -u) $(id -g)"
fi
mkdir -p "$dir" || exit 13
if [ $# = 3 ] && [ -z "$(ls -A "$dir")" ]; then
	chown "$2:$3" "$dir" || exit 14
fi
if [ $# = 1 ]; then
	[ -w "$dir" ] || exit 14
	exit 0
fi
# As root: the user's own word is what counts.
[ "$(stat -c %u "$dir")" = "$2" ] || exit 14
