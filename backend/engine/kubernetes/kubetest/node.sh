#!/usr/bin/env bash
# node.sh FOLDER BINARIES [GROUP...]: process 1 of a node. It is in name spaces of its own, whose
# mounts are private; all in here ends when it ends.
set -euo pipefail
folder=$1 binaries=$2
if [ $# -gt 2 ]; then # what is entered now is the root of all that the node sees of control groups
    for group in "${@:3}"; do echo $$ >"$group/cgroup.procs"; done
    exec unshare --cgroup bash "$0" "$folder" "$binaries"
fi
export PATH=$binaries:/usr/sbin:/usr/bin:/sbin:/bin HOME=$folder

# A sysfs of this network, and its control groups.
mount -t sysfs sysfs /sys
version1=$(grep -v '^0:' /proc/self/cgroup || true)
if [ -n "$version1" ]; then
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
    while IFS=: read -r _ controllers _; do
        mkdir "/sys/fs/cgroup/${controllers#name=}"
        mount -t cgroup -o "${controllers/#name=/none,name=}" cgroup "/sys/fs/cgroup/${controllers#name=}"
    done <<<"$version1"
else # not tested yet
    mount -t cgroup2 cgroup /sys/fs/cgroup
    # Controllers are for groups below one that has no process of its own.
    mkdir /sys/fs/cgroup/node
    echo $$ >/sys/fs/cgroup/node/cgroup.procs
    sed -E 's/(\w+)/+\1/g' /sys/fs/cgroup/cgroup.controllers >/sys/fs/cgroup/cgroup.subtree_control
fi
# Some paths cannot be configured: CNI keeps results in /var/lib/cni, the kubelet has a socket in
# /var/lib/kubelet and links in /var/log/containers.
for path in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 node $path; done
mkdir -p /run/netns /run/lock /run/proc /run/sysctl
# A whole proc has to be somewhere: without, user name spaces get none of their own, because the
# next mounts hide parts of this one.
mount -t proc proc /run/proc
# The kubelet sets these for the whole computer. Here it finds them set.
while read -r path value; do
    file=/run/sysctl/${path//\//.}
    echo "$value" >"$file"
    mount --bind "$file" "/proc/sys/$path"
done <<'END'
kernel/keys/root_maxbytes 25000000
kernel/keys/root_maxkeys 1000000
kernel/panic 10
kernel/panic_on_oops 1
vm/overcommit_memory 1
vm/panic_on_oom 0
END
hostname node1
ip link set lo up
ip link add node0 type bridge # the kubelet takes no address of the loopback
ip address add 10.234.0.1/24 dev node0
ip link set node0 up
echo 1 >/proc/sys/net/ipv4/ip_forward

# again runs a program, and runs it again when it ends: tests kill them.
again() {
    while :; do
        "$@" >>"$folder/log/$1" 2>&1 </dev/null || true
        echo "$1 ended" >>"$folder/log/$1"
        sleep 0.1
    done
}

cd "$folder"
again containerd --config containerd.toml &
# What it had is of no use after a crash of the computer.
again etcd --data-dir etcd --unsafe-no-fsync --log-level warn &
again kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
    --advertise-address=10.234.0.1 --service-cluster-ip-range=10.96.0.0/16 \
    --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key \
    --client-ca-file=pki/ca.crt --authorization-mode=Node,RBAC \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-signing-key-file=pki/accounts.key --service-account-key-file=pki/accounts.pub \
    --kubelet-client-certificate=pki/admin.crt --kubelet-client-key=pki/admin.key \
    --kubelet-preferred-address-types=InternalIP --profiling=false &
again forward apiserver.sock 127.0.0.1:6443 &
# Not --use-service-account-credentials, which takes 5 s at the start: it is an administrator.
# A lost node is one that was silent for 12 s; the default of 50 s is long for tests.
again kube-controller-manager --kubeconfig=admin.conf --leader-elect=false --bind-address=127.0.0.1 \
    --service-account-private-key-file=pki/accounts.key --root-ca-file=pki/ca.crt \
    --node-monitor-period=1s --node-monitor-grace-period=12s &
again kube-scheduler --kubeconfig=admin.conf --leader-elect=false --bind-address=127.0.0.1 &
again kubelet --config=kubelet.yaml --kubeconfig=kubelet.conf --root-dir="$folder/kubelet" --cert-dir="$folder/pki" \
    --hostname-override=node1 --node-ip=10.234.0.1 &
again volumes admin.conf "$folder/volumes" &
wait
