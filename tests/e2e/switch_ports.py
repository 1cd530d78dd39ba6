# SPDX-License-Identifier: BSD-3-Clause
"""switch_ports.py SWITCH host|namespace - cases of switch-ports.sh: one line each, exit status 1 if one fails."""
import glob
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import switch_wire as w

SWITCH = sys.argv[1]
DEADLINE = 60  # ends what would never end by itself: the machine may be slow
CASES = {'host': [], 'namespace': []}
tmp = tempfile.mkdtemp(prefix='tally-ports.')
# Addresses of our own: other switches of this machine may have the first one.
LO, LO2 = (f'127.{net}.{random.randrange(256)}.{random.randrange(1, 255)}' for net in random.sample(range(1, 250), 2))


def case(where):
    def add(f):
        CASES[where].append(f)
        return f
    return add


def check(condition, why):
    if not condition:
        raise AssertionError(why)


class Switch:
    nr = 0
    all = []

    def __init__(self, *args, prefix=(), wait=True):
        Switch.nr += 1
        self.totals_path = f'{tmp}/totals{Switch.nr}'
        r, wr = os.pipe()
        self.proc = subprocess.Popen(
            [*prefix, SWITCH, *args, '--ready-fd', str(wr), '--totals', self.totals_path], pass_fds=[wr],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=tmp))
        os.close(wr)
        Switch.all.append(self)
        self.ready = False
        if wait:
            end = time.monotonic() + DEADLINE
            while not self.ready and time.monotonic() < end:
                if select.select([r], [], [], 1)[0]:
                    self.ready = os.read(r, 1) == b'r'
                    break
        os.close(r)
        if wait and not self.ready:
            self.proc.kill()
            out, err = self.proc.communicate()
            raise AssertionError(f'not ready: {out}{err}')

    def await_rx(self, port, nr):
        """Until the port has received so many packets."""
        end = time.monotonic() + DEADLINE
        text = ''
        while not any(int(rx) >= nr for rx in re.findall(rf'^ +{port} +\S+ +\S+ +(\d+) ', text, re.M)):
            check(time.monotonic() < end, f'port {port} has not received {nr} packets:\n{text}')
            self.proc.send_signal(signal.SIGUSR1)
            select.select([self.proc.stdout], [], [], 1)
            text = os.read(self.proc.stdout.fileno(), 65536).decode()
            time.sleep(0.02)

    def stop(self, sig=signal.SIGTERM):
        self.proc.send_signal(sig)
        self.out, self.err = self.proc.communicate(timeout=DEADLINE)
        check(self.proc.returncode == 0, f'exit status {self.proc.returncode}: {self.err}')
        self.totals = {}
        for line in open(self.totals_path):
            key, value = line.rstrip('\n').split(' ', 1)
            self.totals[key] = int(value) if value.isdigit() else value
        check(self.totals['rx'] == self.totals['verdicts'], f"rx {self.totals['rx']} is not the sum of verdicts "
              f"{self.totals['verdicts']}")
        check(f"rx {self.totals['rx']} = sum of verdicts {self.totals['rx']}" in self.out, 'totals on stdout')
        return self.totals


def refused(*args, prefix=(), rc=1):
    p = subprocess.run([*prefix, SWITCH, *args], capture_output=True, text=True, timeout=DEADLINE)
    check(p.returncode == rc, f'{args}: exit status {p.returncode}, not {rc}: {p.stderr}')
    check(p.stderr.count('\n') == 1 and not p.stdout, f'{args}: more than a sentence: {p.stderr}{p.stdout}')
    return p.stderr


class Rank:
    """One rank with a kernel socket."""

    def __init__(self, ip, switch_ip, name, wid, world, p=256):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((ip, 0))
        self.sock.connect((switch_ip, w.PORT))
        self.sock.settimeout(0.2)
        self.name, self.wid, self.world, self.p = name, wid, world, p
        self.inc = random.getrandbits(63) | 1
        self.base = self.epoch = self.job = 0
        self.running = False

    def port(self):
        return self.sock.getsockname()[1]

    def send(self, b):
        self.sock.send(b)

    def recv(self):
        try:
            return w.Msg(self.sock.recv(65536))
        except (socket.timeout, ConnectionRefusedError):
            return None

    def ask(self):
        self.send(w.join(self.name, self.wid, self.inc, self.base, self.world, self.port(), self.p))

    def take_status(self, m):
        if not m or m.type != w.STATUS:
            return
        self.job = m.job
        if m.state == w.RUNNING:
            self.epoch, self.running = m.epoch, True
        elif m.state == w.FORMING:
            self.base = m.epoch - 1


def join_all(ranks):
    end = time.monotonic() + DEADLINE
    while not all(r.running for r in ranks):
        check(time.monotonic() < end, 'the job does not form')
        for r in ranks:
            if not r.running:
                r.ask()
                r.take_status(r.recv())
    check(len({r.epoch for r in ranks}) == 1, 'ranks are in different epochs')


def values_of(rank, slot, round_=0, n=64):
    return [(rank + 1) * 1000003 + slot * 911 + round_ * 50021 + i * 7 for i in range(n)]


def exchange(ranks, slots, send=None, round_=0):
    """All ranks contribute to all slots, again where a result does not come; checks every result."""
    want = {s: [sum(v) for v in zip(*(values_of(r.wid, s, round_) for r in ranks))] for s in slots}
    missing = {r.wid: set(slots) for r in ranks}
    end = time.monotonic() + DEADLINE
    while any(missing.values()):
        check(time.monotonic() < end, f'results are missing: {missing}')
        for r in ranks:
            todo = [w.data(r.job, r.epoch, s, r.wid, values_of(r.wid, s, round_), round_)
                    for s in sorted(missing[r.wid])]
            if send:
                send(r, todo)
            else:
                for b in todo:
                    r.send(b)
        for r in ranks:
            while missing[r.wid]:
                m = r.recv()
                if not m:
                    break
                # A duplicate made on purpose may be late.
                if m.type != w.RESULT or m.round != round_:
                    continue
                check(m.values == want[m.slot], f'slot {m.slot}: wrong sum')
                missing[r.wid].discard(m.slot)


def send_train(rank, packets):
    if packets:
        control = [(socket.IPPROTO_UDP, 103, struct.pack('=H', len(packets[0])))]
        rank.sock.sendmsg([b''.join(packets)], control)


def udp_job(setting, send):
    switch = Switch('-i', f'1@udp:{LO}' + setting)
    ranks = [Rank('127.0.0.1', LO, 'sums', i, 3) for i in range(3)]
    join_all(ranks)
    exchange(ranks, range(32, 40), send)
    exchange(ranks, range(32, 40), send, 1)
    totals = switch.stop()
    check(totals['results'] == 16 and totals['jobs'] == 1, f'{totals}')
    check(totals['port.1.tx'] >= 48 and totals['port.1.driver'] == 'udp', f'{totals}')
    return totals


@case('host')
def udp_aggregates():
    udp_job('', None)


@case('host')
def udp_trains():
    udp_job('', send_train)


@case('host')
def udp_without_offloads():
    udp_job(f':{w.PORT},gso=off', None)


@case('host')
def udp_empty_in_a_train_has_room():
    """A contribution without values, in the middle of a train, completes a chunk that has values."""
    switch = Switch('-i', f'1@udp:{LO}')
    a, b = ranks = [Rank('127.0.0.1', LO, 'empties', i, 2) for i in range(2)]
    join_all(ranks)
    for s in range(32, 40):
        a.send(w.data(a.job, a.epoch, s, 0, values_of(0, s)))
    send_train(b, [w.data(b.job, b.epoch, s, 1, None) for s in range(32, 40)])
    got = {}
    end = time.monotonic() + DEADLINE
    while len(got) < 8 and time.monotonic() < end:
        m = b.recv()
        if m and m.type == w.RESULT:
            got[m.slot] = m.values
    check(got == {s: values_of(0, s) for s in range(32, 40)}, f'results of {sorted(got)}')
    totals = switch.stop()
    check(totals['counter.no_room'] == 0 and totals['counter.completed'] == 8, f'{totals}')


@case('host')
def udp_process_gone():
    """A rank whose process is gone is told by its kernel: the epoch ends, cause GONE."""
    switch = Switch('-i', f'1@udp:{LO}')
    a, b = ranks = [Rank('127.0.0.1', LO, 'gone', i, 2) for i in range(2)]
    join_all(ranks)
    b.send(w.data(b.job, b.epoch, 32, 1, values_of(1, 32)))
    a.send(w.data(a.job, a.epoch, 32, 0, values_of(0, 32)))
    m = b.recv()
    check(m and m.type == w.RESULT, 'no result')
    b.send(w.data(b.job, b.epoch, 33, 1, values_of(1, 33)))
    # An epoch takes the clock's next millisecond: in this one the switch could only wait for another hint.
    time.sleep(0.005)
    b.sock.close()
    end = time.monotonic() + DEADLINE
    status = None
    while not status and time.monotonic() < end:
        a.send(w.data(a.job, a.epoch, 33, 0, values_of(0, 33)))
        m = a.recv()
        if m and m.type == w.STATUS and m.cause == w.CAUSE_GONE:
            status = m
    check(status and status.epoch > a.epoch, 'nobody says that the rank is gone')
    totals = switch.stop()
    check(totals['counter.gone'] >= 1, f'{totals}')


@case('host')
def udp_two_ports_one_job():
    switch = Switch('-i', f'1@udp:{LO}', '-i', f'9@udp:{LO2}')
    ranks = [Rank('127.0.0.1', LO, 'both', 0, 2), Rank('127.0.0.1', LO2, 'both', 1, 2)]
    join_all(ranks)
    exchange(ranks, range(32, 40))
    totals = switch.stop()
    check(totals['port.1.rx'] >= 9 and totals['port.9.rx'] >= 9, f'{totals}')


@case('host')
def udp_faults_on_purpose():
    """Exact in spite of loss, duplicates and reordering in both directions, and every fault is counted."""
    switch = Switch('-i', f'1@udp:{LO}', '--loss', '15%', '--dup', '0.2', '--reorder', '20%', '--seed', '5')
    ranks = [Rank('127.0.0.1', LO, 'faults', i, 2) for i in range(2)]
    for r in ranks:
        r.sock.settimeout(0.03)
    join_all(ranks)
    for round_ in range(8):
        exchange(ranks, range(32, 40), None, round_)
    totals = switch.stop()
    check(totals['counter.impaired'] == totals['port.1.in_lost'] > 0, f'{totals}')
    for fault in ('in_duplicated', 'in_overtaken', 'out_lost', 'out_duplicated', 'out_overtaken'):
        check(totals['port.1.' + fault] > 0, f'{fault}: {totals}')


@case('host')
def udp_captures():
    switch = Switch('-i', f'1@udp:{LO}', '--pcap', f'{tmp}/caps')
    r = Rank('127.0.0.1', LO, 'alone', 0, 1)
    join_all([r])
    exchange([r], range(32, 36))
    totals = switch.stop()
    frames = w.pcap_read(f'{tmp}/caps/port1_in.pcap'), w.pcap_read(f'{tmp}/caps/port1_out.pcap')
    check(len(frames[0]) == totals['port.1.rx'] and len(frames[1]) == totals['port.1.tx'], 'packets captured')
    check(all(w.udp_checksum_ok(f) for f in frames[0] + frames[1]), 'checksums of captured packets')
    check(sum(f[42] == 0x10 | w.RESULT for f in frames[1]) >= 4, 'results in the capture')


@case('host')
def totals_on_request():
    switch = Switch('-i', f'1@udp:{LO}')
    switch.proc.send_signal(signal.SIGUSR1)
    line = switch.proc.stdout.readline()
    check(line.startswith(' port name'), f'no table: {line}')
    switch.stop(signal.SIGINT)
    check(switch.err == 'tally-switch: ready, 1 port, ip ' + LO + '\n', f'stderr: {switch.err}')


@case('host')
def idle_sleeps():
    switch = Switch('-i', f'1@udp:{LO}')
    time.sleep(0.3)
    cpu = float(switch.stop()['cpu_s'])
    check(cpu < 0.1, f'{cpu} s of CPU in 0.3 s without a packet')


@case('host')
def refusals():
    switch = Switch('-i', f'1@udp:{LO}')
    for args, rc, words in [
            (['-i', f'1@udp:{LO}'], 1, 'in use: by another tally-switch?'),
            (['-i', '1@udp:192.0.2.7'], 1, 'no address of this machine'),
            (['-i', '1@nosuch0', '--ip', '10.0.0.254'], 1, 'no such interface'),
            (['-i', '1@lo', '--ip', '10.0.0.254'], 1, 'no Ethernet interface'),
            (['-i', '1@memif:/nonexistent/s', '--ip', '10.0.0.254'], 1, 'cannot make a socket in'),
            (['-i', '1@memif:/etc/hostname', '--ip', '10.0.0.254'], 1, '/etc/hostname'),
            (['-i', '1@pcap:/nonexistent,/tmp/x', '--ip', '10.0.0.254'], 1, 'cannot read /nonexistent'),
            (['-i', '1@vdev:net_nosuch0', '--ip', '10.0.0.254'], 1, 'no such driver'),
            (['-i', '1@veth1'], 2, 'framed ports need --ip'),
            ([], 2, 'no port is given'),
            (['-i', f'2@udp:{LO2}', '--pcap', '/proc/nonexistent'], 1, 'cannot make the directory')]:
        text = refused(*args, rc=rc)
        check(words in text, f'{args}: {text}')
    switch.stop()


@case('host')
def refusal_without_privilege():
    prefix = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--bounding-set=-all',
              '--inh-caps=-all'] if os.geteuid() == 0 else []
    names = [n for n in os.listdir('/sys/class/net') if os.path.exists(f'/sys/class/net/{n}/type') and
             open(f'/sys/class/net/{n}/type').read().strip() == '1' and
             int(open(f'/sys/class/net/{n}/flags').read(), 16) & 1]
    if not names:
        return 'this machine has no Ethernet interface that is up'
    try:
        text = refused('-i', f'1@{names[0]}', '--ip', '10.0.0.254', prefix=prefix)
    except PermissionError:
        return 'cannot give up privileges here'
    check('CAP_NET_RAW' in text and 'udp: and memif: need no privilege' in text, text)
    text = refused('-i', f'1@udp:{LO}:99', prefix=prefix) if \
        open('/proc/sys/net/ipv4/ip_unprivileged_port_start').read().strip() == '1024' else 'is privileged'
    check('is privileged' in text, text)


H1, SW = w.mac('02:00:00:00:00:01'), w.mac('02:74:0a:00:00:fe')


def stranger(n):
    """To an address that nobody has: flooded."""
    return w.udp_frame(w.mac('02:00:00:00:99:99'), H1, '10.0.0.1', '10.0.0.9', 4000 + n, 5000, bytes([n]) * 40)


@case('host')
def ring_and_pcap_ports():
    """Frames from a capture are flooded to a ring, which gives them back, and from there into a capture."""
    frames = [stranger(n) for n in range(20)]
    w.pcap_write(f'{tmp}/in.pcap', frames)
    switch = Switch('-i', f'1@pcap:{tmp}/in.pcap,{tmp}/out.pcap', '-i', '2@vdev:net_ring0', '--ip', '10.0.0.254')
    totals = switch.stop()
    check(w.pcap_read(f'{tmp}/out.pcap') == frames, 'the frames that came out are not those that went in')
    check(totals['port.2.driver'] == 'net_ring' and totals['port.2.rx'] == 20, f'{totals}')
    check(totals['counter.flooded'] == 40, f'{totals}')


def patched(b, at, *values):
    """b with other bytes at an offset."""
    return b[:at] + bytes(values) + b[at + len(values):]


def broken_frames():
    """One frame for each name under which a whole frame is dropped."""
    good = w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7000, w.PORT, bytes(64))
    ping = w.echo_request(SW, H1, '10.0.0.1', '10.0.0.254', 1)
    options = good[:14] + b'\x46' + good[15:]
    return {
        'frame_short': good[:13], 'frame_long': stranger(1) + bytes(1600), 'ip_version': patched(good, 14, 0x65),
        'ip_options': options, 'ip_length': patched(good, 16, 0x40), 'ip_checksum': patched(good, 24, 0, 0),
        'ip_fragment': rechecked(patched(good, 20, 0x20)), 'udp_checksum': patched(good, 60, 1),
        'icmp_checksum': patched(ping, 60, 99), 'not_mine': w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7, 9, b'x'),
        'same_port': H1 + good[6:], 'bad_source': patched(good, 6, 0x03),
    }


def rechecked(frame):
    ip = frame[14:24] + b'\0\0' + frame[26:34]
    return frame[:24] + struct.pack('>H', w.checksum(ip)) + frame[26:]


def broken_messages():
    """One UDP payload for each name under which one is dropped that needs no job."""
    data = w.data(1, 5, 32, 0, values_of(0, 32))
    join = w.join('broken', 0, 1, 0, 2, 7000)
    return {
        'truncated': data[:21], 'bad_version': patched(data, 0, 0x21), 'bad_type': patched(data, 0, 0x1f),
        'bad_kind': patched(data, 1, 0x0f), 'bad_flag': patched(data, 1, 0x81), 'bad_length': data + b'\0',
        'bad_field': patched(join, 22 + 16, 0, 0), 'bad_direction': w.header(w.RESULT, 1, 5, 32, 0, 7, 0xffff, w.ADD32)
        + bytes(32), 'unknown_job': data,
    }


@case('host')
def every_drop_of_a_frame():
    """Each name counts exactly its own frame, and the sum is what came in."""
    frames, messages = broken_frames(), broken_messages()
    w.pcap_write(f'{tmp}/in.pcap', list(frames.values()) +
                 [w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7000, w.PORT, b) for b in messages.values()])
    switch = Switch('-i', f'1@pcap:{tmp}/in.pcap,{tmp}/out.pcap', '-i', '2@vdev:net_null0', '--ip', '10.0.0.254',
                    '--impair', '2:loss=1,dir=in')
    totals = switch.stop()
    for name in list(frames) + list(messages):
        check(totals['counter.' + name] == 1, f"{name}: {totals['counter.' + name]}")
    check(totals['port.1.rx'] == len(frames) + len(messages), f"rx {totals['port.1.rx']}")
    check(totals['counter.impaired'] == totals['port.2.rx'], f'{totals}')


@case('host')
def one_queue_of_many():
    """A device of many queues is served through one, and a line says so."""
    switch = Switch('-i', '1@vdev:net_null0', '--ip', '10.0.0.254', '--log-level', 'info')
    totals = switch.stop()
    check(totals['port.1.driver'] == 'net_null', f'{totals}')
    told = [line for line in switch.out.splitlines() + switch.err.splitlines() if 'queues' in line]
    check(len(told) == 1 and 'port 1: receives through 1 of ' in told[0], f'of its queues: {told}')


@case('host')
def every_drop_in_a_job():
    switch = Switch('-i', f'1@udp:{LO}')
    a, b = ranks = [Rank('127.0.0.1', LO, 'drops', i, 2) for i in range(2)]
    join_all(ranks)
    for round_ in range(3):
        exchange(ranks, [32], None, round_)
    mine = lambda slot, wid=0, **kw: w.data(a.job, kw.pop('epoch', a.epoch), slot, wid, values_of(0, slot), **kw)
    # In this order: each says one thing.
    for sender, packet in ((a, mine(32)), (a, mine(33)), (a, mine(33)), (b, mine(33)), (a, mine(34, 2)), (a, mine(500)),
                           (a, mine(33, epoch=a.epoch - 1)), (a, w.data(a.job, a.epoch, 35, 0, values_of(0, 35, n=96)))):
        sender.send(packet)
    a.send(w.header(w.KEEPALIVE, a.job, a.epoch, 33, 0, 0, 0) + bytes(160))
    # Nobody answers all of these: the one that is answered says that the others are in.
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        m = a.recv()
        if m and m.type == w.STATUS and m.slot == 33 and m.state == w.RUNNING:
            break
        a.send(w.header(w.KEEPALIVE, a.job, a.epoch, 33, 0, 0, 0) + bytes(160))
    totals = switch.stop()
    for name, nr in (('stale', 1), ('duplicate', 1), ('spoofed', 1), ('bad_wid', 1), ('bad_slot', 1), ('old_epoch', 1),
                     ('no_room', 1)):
        check(totals['counter.' + name] == nr, f"{name}: {totals['counter.' + name]} {totals}")


def memif_pair(path, frames, *args):
    """A switch with a memif port, and another that plays a capture into it."""
    w.pcap_write(f'{tmp}/in.pcap', frames)
    server = Switch('-i', f'1@memif:{path}', '--ip', '10.0.0.254', *args)
    client = Switch('-i', f'2@vdev:net_memif0,role=client,id=0,socket={path},socket-abstract=no', '-i',
                    f'1@pcap:{tmp}/in.pcap,{tmp}/out.pcap', '--ip', '10.0.0.253')
    return server, client


@case('host')
def memif_port():
    path = f'{tmp}/memif.sock'
    job = 0x1234
    frames = [w.arp_request(H1, '10.0.0.1', '10.0.0.254'), w.echo_request(SW, H1, '10.0.0.1', '10.0.0.254', 7)]
    frames += [w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7000, w.PORT, b) for b in (
        w.join('memif', 0, 99, 0, 2, 7000), w.data(job, 5, 32, 0, values_of(0, 32)))]
    bad = w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7000, w.PORT, w.join('memif', 1, 98, 0, 2, 7000))
    frames.append(bad[:-1] + b'\x01')
    server, client = memif_pair(path, frames)
    client.await_rx(2, 4)
    totals_client = client.stop()
    totals = server.stop()
    out = w.pcap_read(f'{tmp}/out.pcap')
    arp = [f for f in out if f[12:14] == b'\x08\x06' and f[21] == 2]
    check(len(arp) == 1 and arp[0][22:28] == SW and arp[0][:6] == H1, 'ARP reply')
    echo = [f for f in out if f[12:14] == b'\x08\0' and f[23] == 1]
    check(len(echo) == 1 and echo[0][34] == 0 and echo[0][42:] == frames[1][42:], 'echo reply')
    udp = [f for f in out if f[12:14] == b'\x08\0' and f[23] == 17]
    check(len(udp) == 2 and all(w.udp_checksum_ok(f) and f[42] == 0x10 | w.STATUS for f in udp), 'STATUS to JOIN and to DATA')
    for name, nr in ('arp_reply', 1), ('echo_reply', 1), ('join', 1), ('unknown_job', 1), ('udp_checksum', 1):
        check(totals['counter.' + name] == nr, f'{name}: {totals}')
    check(totals['port.1.driver'] == 'net_memif' and totals_client['port.2.rx'] == 4, f'{totals_client}')
    check(not os.path.exists(path), 'the socket stays behind')


@case('host')
def memif_after_a_kill():
    """A killed switch leaves a socket and run-time files; the next one removes both."""
    path = f'{tmp}/memif.sock'
    switch = Switch('-i', f'1@memif:{path}', '--ip', '10.0.0.254')
    text = refused('-i', f'1@memif:{path}', '--ip', '10.0.0.254')
    check('in use: by another tally-switch?' in text, text)
    switch.proc.kill()
    switch.proc.communicate()
    check(os.path.exists(path) and len(glob.glob(f'{tmp}/tally-switch.*')) == 1, 'nothing to clean up')
    server, client = memif_pair(path, [w.arp_request(H1, '10.0.0.1', '10.0.0.254')])
    check(len(glob.glob(f'{tmp}/tally-switch.*')) == 2, 'run-time files of the killed switch are still there')
    client.await_rx(2, 1)
    client.stop()
    check(server.stop()['counter.arp_reply'] == 1, 'ARP')
    check(not glob.glob(f'{tmp}/tally-switch.*'), 'run-time files stay behind')


@case('host')
def ends_while_starting():
    """SIGTERM at any moment of the start: exit status 0, if it has begun at all, and nothing stays behind."""
    for ms in (30, 60, 120, 200):
        switch = Switch('-i', '1@vdev:net_ring0', '--ip', '10.0.0.254', wait=False)
        time.sleep(ms / 1000)
        switch.proc.terminate()
        out, err = switch.proc.communicate(timeout=DEADLINE)
        check(switch.proc.returncode in (0, -signal.SIGTERM), f'{switch.proc.returncode}: {err}')
    check(not glob.glob(f'{tmp}/tally-switch.*'), 'run-time files stay behind')


@case('host')
def starts_and_stops_many_times():
    """Each time with a rank that has joined; nothing is left of the one before (MODE=asan looks for leaks)."""
    for i in range(20):
        switch = Switch('-i', f'1@udp:{LO}', *(['-i', '2@vdev:net_ring0', '--ip', '10.0.0.254'] if i % 2 else []))
        rank = Rank(LO, LO, 'again', 0, 1)
        join_all([rank])
        exchange([rank], range(4))
        totals = switch.stop(signal.SIGTERM if i % 3 else signal.SIGINT)
        check(totals['counter.join'] and totals['counter.completed'] == 4, f'time {i}: {totals}')
        rank.sock.close()
    check(not glob.glob(f'{tmp}/tally-switch.*'), 'run-time files stay behind')


@case('host')
def one_cpu_and_two_switches():
    """Two at once, each on a CPU that it is confined to."""
    cpu = str(min(os.sched_getaffinity(0)))
    both = [Switch('-i', '1@vdev:net_ring0', '--ip', '10.0.0.254', prefix=['taskset', '-c', cpu])
            for i in range(2)]
    for s in both:
        check(s.stop()['port.1.driver'] == 'net_ring', 'driver')


class Host:
    """A network namespace with one end of a veth; the other end is the switch's."""

    def __init__(self, n, mtu=1500):
        self.ip, self.dev = f'10.0.0.{n}', f'sw{n}'
        self.hold = subprocess.Popen(['unshare', '-n', 'sh', '-c', 'echo; exec cat'], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
        self.hold.stdout.readline()
        ip = lambda *a: subprocess.run(['ip', *a], check=True)
        ip('link', 'add', self.dev, 'mtu', str(mtu), 'type', 'veth', 'peer', 'name', 'eth0', 'mtu', str(mtu),
           'netns', str(self.hold.pid))
        ip('link', 'set', self.dev, 'up')
        with open(f'/proc/sys/net/ipv6/conf/{self.dev}/disable_ipv6', 'w') as f:
            f.write('1')
        self.run('sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6')
        for cmd in ('ip link set lo up', f'ip addr add {self.ip}/24 dev eth0', 'ip link set eth0 up'):
            self.run(*cmd.split())

    def run(self, *args, **kw):
        return subprocess.run(['nsenter', '-t', str(self.hold.pid), '-n', *args], check=True,
                              capture_output=True, text=True, **kw)

    def socket_rank(self, name, wid, world, p=256):
        """Sockets live in the namespace they were made in."""
        mine = os.open('/proc/self/ns/net', os.O_RDONLY)
        theirs = os.open(f'/proc/{self.hold.pid}/ns/net', os.O_RDONLY)
        setns(theirs)
        try:
            return Rank(self.ip, '10.0.0.254', name, wid, world, p)
        finally:
            setns(mine)
            os.close(mine)
            os.close(theirs)

    def close(self):
        self.hold.kill()
        self.hold.communicate()
        subprocess.run(['ip', 'link', 'del', self.dev], capture_output=True)


def setns(fd):
    import ctypes
    check(ctypes.CDLL(None, use_errno=True).setns(fd, 0x40000000) == 0, 'setns')


def with_hosts(nr, f, mtu=1500):
    hosts = [Host(n + 1, mtu) for n in range(nr)]
    try:
        f(hosts)
    finally:
        for h in hosts:
            h.close()


def ports_of(hosts):
    return [a for i, h in enumerate(hosts) for a in ('-i', f'{i + 1}@{h.dev}')] + ['--ip', '10.0.0.254']


@case('namespace')
def af_packet_ping_and_sums():
    """Ordinary traffic and aggregation beside each other over veths; checksum offload is on at the hosts."""
    def go(hosts):
        switch = Switch(*ports_of(hosts))
        out = hosts[0].run('ping', '-c', '3', '-i', '0.1', '-W', '2', '10.0.0.2').stdout
        check(' 0% packet loss' in out, out)
        out = hosts[1].run('ping', '-c', '2', '-i', '0.1', '-W', '2', '10.0.0.254').stdout
        check(' 0% packet loss' in out, out)
        check('02:74:0a:00:00:fe' in hosts[1].run('ip', 'neigh', 'show', '10.0.0.254').stdout, 'ARP entry')
        ranks = [h.socket_rank('veth', i, len(hosts)) for i, h in enumerate(hosts)]
        join_all(ranks)
        for round_ in range(3):
            exchange(ranks, range(32, 40), None, round_)
        totals = switch.stop()
        check(totals['port.1.driver'] == 'net_af_packet' and totals['results'] == 24, f'{totals}')
        check(totals['counter.echo_reply'] == 2 and totals['counter.forwarded'] >= 6, f'{totals}')
        check(totals['counter.flooded'] >= 1 and totals['counter.arp_reply'] >= 1, f'{totals}')
    with_hosts(3, go)


@case('namespace')
def af_packet_jumbo():
    def go(hosts):
        switch = Switch(*ports_of(hosts))
        ranks = [h.socket_rank('jumbo', i, 2, 8832) for i, h in enumerate(hosts)]
        join_all(ranks)
        exchange(ranks, [32])
        out = hosts[0].run('ping', '-c', '1', '-s', '8972', '-M', 'do', '-W', '2', '10.0.0.2').stdout
        check(' 0% packet loss' in out, out)
        check(switch.stop()['port.1.mtu'] == 9000, 'MTU')
    with_hosts(2, go, 9000)


@case('namespace')
def af_packet_faults_on_purpose():
    def go(hosts):
        switch = Switch(*ports_of(hosts), '--impair', '1:loss=20%,dup=20%,reorder=20%', '--impair',
                        '2:loss=20%,dir=out')
        ranks = [h.socket_rank('faults', i, 2) for i, h in enumerate(hosts)]
        for r in ranks:
            r.sock.settimeout(0.03)
        join_all(ranks)
        for round_ in range(8):
            exchange(ranks, range(32, 40), None, round_)
        totals = switch.stop()
        check(totals['port.1.in_lost'] > 0 and totals['port.2.in_lost'] == 0, f'{totals}')
        check(totals['port.2.out_lost'] > 0 and totals['port.1.out_overtaken'] > 0, f'{totals}')
    with_hosts(2, go)


@case('namespace')
def af_packet_super_frame():
    """A train that nothing has taken apart: dropped by name, with the remedy, and never cut into something else."""
    def go(hosts):
        switch = Switch(*ports_of(hosts))
        ranks = [h.socket_rank('trains', i, 2) for i, h in enumerate(hosts)]
        join_all(ranks)
        exchange(ranks, [32])
        before = [w.data(r.job, r.epoch, 33, r.wid, values_of(r.wid, 33)) for r in ranks]
        for r, b in zip(ranks, before):
            send_train(r, [b] * 8)
        exchange(ranks, [34])
        totals = switch.stop()
        check(totals['counter.frame_long'] == 2 and totals['results'] == 2, f'{totals}')
        check('turn off segmentation offload' in switch.out, switch.out)
    with_hosts(2, go)


@case('namespace')
def af_packet_strangers():
    """Frames that are not for the aggregation, or broken: forwarded or dropped by name, and counted."""
    def go(hosts):
        switch = Switch(*ports_of(hosts))
        frames = [stranger(1), w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7000, 9, b'x'),
                  w.udp_frame(SW, H1, '10.0.0.1', '10.0.0.254', 7000, w.PORT, b'short'),
                  SW + H1 + b'\x08\0' + b'\x65' + bytes(45), b'\xff' * 6 + H1 + b'\x86\xdd' + bytes(60)]
        hosts[0].run(sys.executable, '-c', 'import socket, sys\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n'
                     's.bind(("eth0", 0))\nfor f in sys.argv[1:]: s.send(bytes.fromhex(f))', *(f.hex() for f in frames))
        out = hosts[0].run('ping', '-c', '1', '-W', '2', '10.0.0.254').stdout
        check(' 0% packet loss' in out, out)
        totals = switch.stop()
        for name, nr in ('flooded', 2), ('not_mine', 1), ('truncated', 1), ('ip_version', 1), ('echo_reply', 1):
            check(totals['counter.' + name] == nr, f'{name}: {totals}')
    with_hosts(2, go)


@case('namespace')
def memif_sums():
    """Workers behind a second switch, which is ordinary there: every packet crosses the memif port, both ways."""
    if not shutil.which('ethtool'):
        return 'ethtool is missing'

    def go(hosts):
        # What a packet socket passes on as ordinary traffic has no checksum yet.
        for h in hosts:
            h.run('ethtool', '-K', 'eth0', 'tx', 'off')
        path = f'{tmp}/memif.sock'
        server = Switch('-i', f'1@memif:{path}', '--ip', '10.0.0.254')
        bridge = Switch('-i', f'9@vdev:net_memif0,role=client,id=0,socket={path},socket-abstract=no',
                        *ports_of(hosts)[:-1], '10.0.0.253')
        ranks = [h.socket_rank('memif', i, len(hosts)) for i, h in enumerate(hosts)]
        join_all(ranks)
        for round_ in range(3):
            exchange(ranks, range(32, 40), None, round_)
        check(bridge.stop()['results'] == 0, 'the second switch is not to add')
        totals = server.stop()
        check(totals['results'] == 24 and totals['port.1.tx'] >= 48, f'{totals}')
    with_hosts(2, go)


@case('namespace')
def udp_and_af_packet_in_one_job():
    """One rank behind a veth, one at a socket of the switch's own machine."""
    def go(hosts):
        subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        switch = Switch(*ports_of(hosts), '-i', f'7@udp:{LO}')
        ranks = [hosts[0].socket_rank('mixed', 0, 2), Rank('127.0.0.1', LO, 'mixed', 1, 2)]
        join_all(ranks)
        for round_ in range(3):
            exchange(ranks, range(32, 40), None, round_)
        totals = switch.stop()
        check(totals['results'] == 24 and totals['port.7.tx'] >= 24 and totals['port.1.tx'] >= 24, f'{totals}')
    with_hosts(1, go)


@case('host')
def ended_before_ports_are_open():
    """DPDK starts for a while after this line; ports that are not open yet are not to be polled at the end."""
    ports = [arg for i in range(2) for arg in ('-i', f'{i}@vdev:net_null{i}')]
    p = subprocess.Popen([SWITCH, *ports, '--ip', '10.0.0.254', '--ctl', 'none', '--log-level', 'info'],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=tmp))
    line = p.stderr.readline()
    while line and 'ordinary memory' not in line:
        line = p.stderr.readline()
    p.terminate()
    out, err = p.communicate(timeout=DEADLINE)
    check(line and p.returncode == 0, f'exit status {p.returncode}: {line}{err}')
    check(all(text.startswith('tally-switch: ') for text in err.splitlines()), err)


@case('namespace')
def af_packet_refusals():
    def go(hosts):
        subprocess.run(['ip', 'link', 'set', 'sw1', 'down'], check=True)
        text = refused('-i', '1@sw1', '--ip', '10.0.0.254')
        check('the interface is down: `ip link set sw1 up`' in text, text)
    with_hosts(1, go)


def main():
    failed = 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    only = sys.argv[3:]
    for f in CASES[sys.argv[2]]:
        name = 'switch-ports ' + f.__name__
        if only and f.__name__ not in only:
            continue
        try:
            skipped = f()
            print(f'skip {name}: {skipped}' if skipped else f'ok {name}', flush=True)
        except Exception as e:
            failed += 1
            print(f'not ok {name}: {type(e).__name__}: {e}'.replace('\n', ' | '), flush=True)
        finally:
            for p in Switch.all:
                if p.proc.poll() is None:
                    p.proc.kill()
                    p.proc.communicate()
            Switch.all.clear()
    shutil.rmtree(tmp, ignore_errors=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
