# The machines: what kernel they have, what is done to it, and what the boundary of commands comes to there.
# Read by machines.sh. The plan of each is run by guest/run.
declare -A machine_of said_of plan_of
machines=()

# machine NAME "WHAT IT IS" ARCHITECTURE "KERNEL'S RELEASE" "ARGUMENTS OF THE KERNEL" [USERLAND'S RELEASE]; its plan follows on the
# standard input.
machine() {
  machines+=("$1")
  said_of[$1]=$2
  machine_of[$1]="$3|$4|${6:-bookworm}|$5"
  plan_of[$1]=$(cat)
}

machine no-user-namespaces "Linux 6.1, user namespaces for root only (kernel.unprivileged_userns_clone=0)" amd64 bookworm "" << 'PLAN'
sysctl -q -w kernel.unprivileged_userns_clone=0
machine user landlock watchdog kernel.unprivileged_userns_clone
machine root full watchdog
corpus user landlock
left user landlock
tests root pkg/command/sandbox 'Landlock|Warden|Starter'
PLAN

machine no-user-namespaces-at-all "Linux 6.12, no user namespaces for anybody (user.max_user_namespaces=0)" amd64 trixie "" << 'PLAN'
sysctl -q -w user.max_user_namespaces=0
machine user landlock watchdog user.max_user_namespaces
machine root landlock watchdog user.max_user_namespaces
corpus root landlock
left root landlock
left user landlock
PLAN

machine full "Linux 6.1, nothing withheld" amd64 bookworm "" << 'PLAN'
machine user full watchdog
machine root full watchdog
corpus user full
corpus root full
left user full
left root full
tests root pkg/command/sandbox
tests user pkg/snapshot
PLAN

machine groups-delegated "Linux 6.12, control groups of version 2, one with pids given to the user" amd64 trixie "" << 'PLAN'
version2
delegated user
machine user full cgroup
limit user cgroup
PLAN

machine groups-not-delegated "Linux 6.12, control groups of version 2, none given to the user" amd64 trixie "" << 'PLAN'
version2
machine user full watchdog
limit user watchdog
corpus user full
corpus root full
left user full
left root full
PLAN

machine groups-of-version-1 "Linux 6.1, control groups of version 1" amd64 bookworm "" << 'PLAN'
version1
machine root full cgroup
limit root cgroup
machine user full watchdog
PLAN

machine no-landlock "Linux 6.1 without Landlock (lsm=)" amd64 bookworm "lsm=capability,yama,apparmor" << 'PLAN'
machine user none watchdog lsm=
machine root none watchdog lsm=
corpus user none
PLAN

machine before-landlock "Linux 5.10, which has no Landlock yet" amd64 bullseye "" << 'PLAN'
machine user none watchdog implemented
machine root none watchdog implemented
corpus root none
left root none
PLAN

machine apparmor "Linux 6.12, AppArmor refuses the server user namespaces, or what it could do in one" amd64 trixie "" trixie << 'PLAN'
version2
apparmor 'capability, mount, umount, remount, pivot_root,'
machine user landlock watchdog namespaces
machine root landlock watchdog namespaces
apparmor 'capability, userns,'
machine user landlock watchdog mounts
apparmor 'mount, umount, remount, pivot_root, userns,'
machine user landlock watchdog
corpus user landlock
PLAN

machine arm "Linux 6.12 on arm64, nothing withheld" arm64 trixie "" << 'PLAN'
machine user full watchdog
machine root full watchdog
tests root pkg/command/sandbox
corpus user full
corpus root full
left user full
left root full
PLAN

machine arm-old "Linux 6.1 on arm64, no user namespaces for anybody" arm64 bookworm "" << 'PLAN'
sysctl -q -w user.max_user_namespaces=0
machine user landlock watchdog user.max_user_namespaces
tests root pkg/command/sandbox 'Landlock|Warden|Starter'
corpus user landlock
PLAN
