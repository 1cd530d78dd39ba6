# SPDX-License-Identifier: BSD-3-Clause
"""traffic.py INTERFACE SWITCH_IP MEMBER_IP JOB WORLD BEGUN DONE STOP - everything that a network carries and nobody asked
for, on one interface, from after the file BEGUN is there until STOP is; DONE is made after the first full round."""
import os
import random
import socket
import struct
import sys
import time

import switch_wire as w

IFNAME, SWITCH, MEMBER, JOB = sys.argv[1:5]
WORLD = int(sys.argv[5])
BEGUN, DONE, STOP = sys.argv[6:9]
LIMIT_S = 100
SOL_PACKET, PACKET_VNET_HDR = 263, 15
UDP_L4, TCPV4 = 5, 1

rng = random.Random(20)
own = open(f'/sys/class/net/{IFNAME}/address').read().strip() if os.path.exists(f'/sys/class/net/{IFNAME}') else None


def own_mac(sock):
    return w.mac(own) if own else sock.getsockname()[4]


def own_ip():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((SWITCH, 9))
    return s.getsockname()[0]


raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((IFNAME, 0))
MAC = own_mac(raw)
IP = own_ip()
SWITCH_MAC = b'\x02\x74' + socket.inet_aton(SWITCH)
BROADCAST = b'\xff' * 6


def send(frame):
    for _ in range(1000):
        try:
            raw.send(frame)
            return
        except OSError as e:
            if e.errno != 105:  # ENOBUFS: the queue is full
                raise
            time.sleep(0.001)


def patched(frame, at, *values):
    return frame[:at] + bytes(values) + frame[at + len(values):]


def ip_rechecked(frame):
    frame = patched(frame, 24, 0, 0)
    return patched(frame, 24, *struct.pack('>H', w.checksum(frame[14:34])))


def udp(payload, sport=5000, dport=w.PORT, dst=SWITCH_MAC, ip_dst=SWITCH):
    return w.udp_frame(dst, MAC, IP, ip_dst, sport, dport, payload)


def arp_storm():
    for i in range(200):
        send(w.arp_request(MAC, IP, f'10.0.{i % 3}.{i}'))
        send(w.arp_request(MAC, IP, IP))


def neighbours():
    """What hosts, printers and switches say by themselves."""
    v6 = b'\xfe\x80' + bytes(13) + b'\x01'
    for i in range(30):
        # router solicitation, listener report, mDNS over both, LLDP, spanning tree
        for group, next_header, body in ((b'\x33\x33\0\0\0\2', 58, bytes([133, 0]) + rng.randbytes(14)),
                                         (b'\x33\x33\0\0\0\x16', 0, rng.randbytes(28)),
                                         (b'\x33\x33\0\0\0\xfb', 17, rng.randbytes(80))):
            send(group + MAC + b'\x86\xdd' + struct.pack('>IHBB', 6 << 28, len(body), next_header, 255) + v6 + v6 + body)
        send(udp(rng.randbytes(60 + i), 5353, 5353, b'\x01\0\x5e\0\0\xfb', '224.0.0.251'))
        send(b'\x01\x80\xc2\0\0\x0e' + MAC + b'\x88\xcc' + rng.randbytes(60))
        send((b'\x01\x80\xc2\0\0\0' + MAC + struct.pack('>H', 38) + rng.randbytes(38)).ljust(60, b'\0'))


def every_length():
    for n in range(14, 1515):
        send((SWITCH_MAC + MAC + rng.randbytes(1502))[:n])
        send((SWITCH_MAC + MAC + b'\x08\0' + rng.randbytes(1500))[:n])
        send((rng.choice((BROADCAST, b'\x02' + rng.randbytes(5))) + MAC + b'\x88\xb5' + rng.randbytes(1500))[:n])
        if n >= 42:
            send(udp(rng.randbytes(n - 42)))


def broken():
    good = udp(rng.randbytes(100))
    for i in range(20):
        send(good[:50 + i])                                             # shorter than it claims
        send(ip_rechecked(patched(good, 14, 0x46)))                     # IP options
        send(ip_rechecked(patched(good, 14, 0x65)))                     # version 6 in an IPv4 packet
        send(ip_rechecked(patched(good, 20, 0x20, 0)))                  # first fragment
        send(ip_rechecked(patched(good, 20, 0, 10 + i)))                # a later one
        send(patched(good, 24, 0, i))                                   # checksum
        send(ip_rechecked(patched(good, 16, 255, 255)))                 # length
        send(patched(good, 38, 0, 7))                                   # length of UDP
        send(patched(w.echo_request(SWITCH_MAC, MAC, IP, SWITCH, i), 36, 1, 2))
        send(udp(rng.randbytes(100), dport=9))
        send(patched(good, 6, 1))                                       # from a group
        send(b'\x01\x80\xc2\0\0' + bytes([i % 16]) + good[6:])           # a pause, STP, LLDP
        send(MAC + b'\x02\1\1\1\1\1' + b'\x88\xb5' + bytes(50))         # comes from where it goes to
        send(udp(w.header(w.RESULT, kind=w.ADD32) + bytes(64)))
        send(udp(bytes([0x2f]) + rng.randbytes(80)))                    # another version
        send(udp(w.header(w.DATA, kind=9) + bytes(64)))
        send(udp(w.header(w.DATA, kind=w.ADD32)[:10 + i % 12]))


def super_frame():
    """10 KB in one frame, as a host sends that lets the device segment."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((IFNAME, 0))
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    frame = udp(rng.randbytes(10000))
    for _ in range(3):
        # NEEDS_CSUM, gso type, header length, segment size, where the checksum begins and lies
        s.send(struct.pack('=BBHHHH', 1, UDP_L4, 42, 1400, 34, 6) + frame)
    s.close()


def spoofed():
    """Contributions of a member, from an address that is not its own."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((SWITCH, w.PORT))
    s.settimeout(0.2)
    port = s.getsockname()[1]
    answered = tries = 0
    while answered < 5 and tries < 300:
        tries += 1
        s.send(w.join(JOB, 0, 1 + rng.getrandbits(60), 0, WORLD, port, 1408, 512))
        try:
            m = w.Msg(s.recv(65536))
        except OSError:
            continue
        answered += 1
        for slot in range(0, 96, 5):
            for round_ in range(2):
                b = w.data(m.job, m.epoch, slot, 0, [7] * 352, round_)
                s.send(b)
                send(w.udp_frame(SWITCH_MAC, MAC, MEMBER, SWITCH, 5001, w.PORT, b))
        s.send(w.header(w.END, m.job, m.epoch) + bytes(160))
    s.close()


def member_port():
    """Of rank 0: whoever asks for its place is told who has it."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((SWITCH, w.PORT))
    s.settimeout(0.2)
    epoch = 0
    try:
        for _ in range(100):
            s.send(w.join(JOB, 0, 1 + rng.getrandbits(60), epoch, WORLD, s.getsockname()[1], 1408, 512))
            try:
                m = w.Msg(s.recv(65536))
            except OSError:
                continue
            epoch = m.epoch
            holder = int.from_bytes(m.body[48:56], 'big')
            if m.type == w.STATUS and m.cause == w.CAUSE_DUPLICATE_RANK and holder >> 16:
                return holder & 0xffff
    finally:
        s.close()
    sys.exit('traffic.py: nobody says who rank 0 is')


def member_mac():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', (MEMBER, 9))
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        for line in open('/proc/net/arp'):
            words = line.split()
            if words[0] == MEMBER and words[3] != '00:00:00:00:00:00':
                return w.mac(words[3])
        time.sleep(0.01)
    sys.exit('traffic.py: no answer by ARP from ' + MEMBER)


def narrowed():
    """A stranger says that a member's path to the switch carries little."""
    port, at = member_port(), member_mac()
    for _ in range(20):
        send(w.too_large(at, MAC, IP, MEMBER, SWITCH, port, 600))
        time.sleep(0.002)


def wait(path):
    end = time.monotonic() + LIMIT_S
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f'traffic.py: {path} does not come')
        time.sleep(0.01)


wait(BEGUN)
first = True
while first or not os.path.exists(STOP):
    if first:  # later the job may be over
        narrowed()
    for part in (arp_storm, neighbours, spoofed, every_length, broken, super_frame, spoofed):
        part()
    if first:
        open(DONE, 'w').close()
        print('a round of strange traffic is over', flush=True)
    first = False
