-- SPDX-License-Identifier: BSD-3-Clause
-- tally.lua - Wireshark's dissector of the native protocol, as docs/protocol.md section 6 describes it.
--
-- README.md beside it says how to install and use it. Needs Wireshark or tshark 4.0 or newer (Lua 5.2 to 5.4).
--
-- What a packet says is read whenever it is shown. What the capture says about it - seen before, answered
-- where, late, stale - is found once, in the order of the packets, and kept in state.frames.

local tally = Proto("tally", "Tally in-network aggregation")

local HEADER, PAD, BODY, CRC_LEN, DESC_LEN = 22, 32, 160, 4, 32
local VERSION, PORT, P_MIN, P_MAX, P_STEP = 1, 48880, 128, 8832, 128
local STATUS_SHORT, STATUS_LONG = 32, 96
local NOBODY, LANE_E, EXPONENTS, ORIGIN, ORIGIN_LEN = 0xffff, 32, 48, 32, 16
local DATA, RESULT, JOIN, STATUS, END, LEAVE, KEEPALIVE = 1, 2, 3, 4, 5, 6, 7
local ADD32, ADD32SAT, ADD16, MAX32, MAX8 = 1, 2, 3, 4, 5
local EMPTY, PARTIAL, SATURATED = 0x10, 0x20, 0x40
local UNKNOWN, FORMING, RUNNING, REFUSED = 1, 2, 3, 4
local LEFT, PARAMETERS, DUPLICATE_RANK = 4, 8, 9
local FIELD_FLAGS, FIELD_RANGES = 3, 6
local JOB_CHUNK_FIXED, JOB_CHECK = 1, 2
-- A float: what has 64 bits is rounded, and never negative.
local TWO32 = 4294967296.0
-- Epochs are the wall clock in ms when they began: what is earlier, or later, is other traffic.
local EPOCH_EARLY, EPOCH_LATE = 1500000000000, 8000000000000

local types = { [0] = "unknown", "DATA", "RESULT", "JOIN", "STATUS", "END", "LEAVE", "KEEPALIVE" }
local kinds = { [0] = "none", "ADD32", "ADD32SAT", "ADD16", "MAX32", "MAX8" }
local states = { [0] = "none", "UNKNOWN", "FORMING", "RUNNING", "REFUSED" }
local causes = {
	[0] = "none", "a rank started anew", "ranks disagree on an operation", "a rank aborted", "a rank left",
	"the switch lost state", "rounds used up", "reset by the operator", "ranks disagree on the job",
	"the rank is taken", "no slots are free", "another protocol version", "a rank's process is gone",
	"a sum was corrupted on the way", "silent for long, and its slots were wanted",
	"a rank's GPU failed",
}
local job_fields = { [0] = "none", "world", "chunk", "flags", "rank", "slots", "ranges" }
local collectives = { "all-reduce", "barrier" }
local dtypes = { "float32", "float16", "bfloat16", "int32" }
local ops = { "sum", "avg", "max", "min" }

-- Arithmetic --------------------------------------------------------------------------------------

local band, bxor, rshift
if bit32 then
	band, bxor, rshift = bit32.band, bit32.bxor, bit32.rshift
else
	-- Operators that Lua 5.2 cannot even read.
	band = load("return function(a, b) return a & b end")()
	bxor = load("return function(a, b) return a ~ b end")()
	rshift = load("return function(a, n) return a >> n end")()
end

local crc_table = {}
for i = 0, 255 do
	local crc = i
	for _ = 1, 8 do
		crc = crc % 2 == 1 and bxor(rshift(crc, 1), 0x82f63b78) or rshift(crc, 1)
	end
	crc_table[i] = crc
end

local function crc32c(text)
	local crc, byte = 0xffffffff, string.byte

	for i = 1, #text do
		crc = bxor(rshift(crc, 8), crc_table[band(bxor(crc, byte(text, i)), 0xff)])
	end
	return bxor(crc, 0xffffffff)
end

-- FNV-1a-64, as 16 hexadecimal digits.
local function job_key(name)
	local prime, key = UInt64.new(0x000001b3, 0x00000100), UInt64.new(0x84222325, 0xcbf29ce4)

	for i = 1, #name do
		key = key:bxor(UInt64.new(name:byte(i), 0)) * prime
	end
	return key:tohex()
end

local function get8(tvb, at) return tvb(at, 1):uint() end
local function get16(tvb, at) return tvb(at, 2):uint() end
local function get32(tvb, at) return tvb(at, 4):uint() end
local function get48(tvb, at) return get16(tvb, at) * TWO32 + get32(tvb, at + 2) end
local function get64(tvb, at) return get32(tvb, at) * TWO32 + get32(tvb, at + 4) end

-- The bits of 64 that are set, lowest first.
local function get_bits(tvb, at)
	local bits = {}

	for half = 0, 1 do
		local word = get32(tvb, at + 4 - 4 * half)
		for bit = 0, 31 do
			if word % 2 == 1 then
				bits[#bits + 1] = 32 * half + bit
			end
			word = rshift(word, 1)
		end
	end
	return bits
end

-- Fields ------------------------------------------------------------------------------------------

local f = {}

local function field(name, make, label, ...)
	f[name] = ProtoField[make]("tally." .. name, label, ...)
end

field("version", "uint8", "Version", base.DEC, nil, 0xf0)
field("type", "uint8", "Type", base.DEC, types, 0x0f)
field("flags", "uint8", "Flags", base.HEX, nil, 0xf0)
field("flags.empty", "bool", "EMPTY", 8, nil, EMPTY, "The contribution has no values")
field("flags.partial", "bool", "PARTIAL", 8, nil, PARTIAL, "The sum of a leaf")
field("flags.saturated", "bool", "SATURATED", 8, nil, SATURATED, "A sum did saturate")
field("flags.reserved", "bool", "Reserved", 8, nil, 0x80)
field("kind", "uint8", "Kind", base.DEC, kinds, 0x0f, "How the slot combines contributions")
field("job", "uint16", "Job handle", base.DEC)
field("epoch", "uint64", "Epoch", base.DEC)
field("slot", "uint16", "Slot", base.DEC)
field("lane", "string", "Lane")
field("round", "uint32", "Round", base.DEC)
field("desc_crc", "uint32", "CRC32C of the descriptor", base.HEX)
field("desc_crc.status", "string", "CRC32C of the descriptor")
field("wid", "uint16", "Rank (wid)", base.DEC)
field("len", "uint32", "Payload length", base.DEC)
field("payload", "bytes", "Payload")
field("padding", "bytes", "Padding")
field("value32", "int32", "Value", base.DEC)
field("value16", "int16", "Value", base.DEC)
field("exponent", "uint8", "Exponent", base.DEC)
field("origin", "bytes", "Origin of Inf and NaN")
field("origin.rank", "uint16", "Lowest rank with Inf or NaN", base.DEC)
field("close.sum", "int64", "CLOSE: sum of values", base.DEC)
field("close.weighted", "int64", "CLOSE: sum of values by place", base.DEC)
field("seal", "uint32", "Seal (CRC32C)", base.HEX)
field("seal.status", "string", "Seal status")

field("desc", "bytes", "Descriptor")
field("desc.opno", "uint32", "Operation number", base.DEC)
field("desc.count", "uint64", "Count", base.DEC)
field("desc.collective", "uint8", "Collective", base.DEC, collectives)
field("desc.dtype", "uint8", "Data type", base.DEC, dtypes)
field("desc.op", "uint8", "Operation", base.DEC, ops)
field("desc.width", "uint8", "Bytes per element on the wire", base.DEC)
field("desc.root", "uint16", "Root", base.DEC)
field("desc.world", "uint16", "World", base.DEC)
field("desc.p", "uint16", "P", base.DEC)
field("desc.flags", "uint16", "Flags", base.HEX)
field("desc.flags.saturate", "bool", "Sums saturate", 16, nil, 0x0001)

field("join.inc", "uint64", "Incarnation", base.HEX)
field("join.base", "uint64", "Base", base.DEC)
field("join.flags", "uint16", "Flags", base.HEX)
field("join.flags.chunk_fixed", "bool", "P was fixed by the user", 16, nil, JOB_CHUNK_FIXED)
field("join.flags.check", "bool", "CHECK", 16, nil, JOB_CHECK)
field("join.world", "uint16", "World", base.DEC)
field("join.slots", "uint16", "Slots wanted", base.DEC)
field("join.p", "uint16", "P at most", base.DEC)
field("join.port", "uint16", "First UDP port", base.DEC)
field("join.nr_ports", "uint16", "UDP ports", base.DEC)
field("join.nr_ranges", "uint16", "Ranges", base.DEC)
field("join.range", "bytes", "Range")
field("join.range.first", "uint16", "First rank", base.DEC)
field("join.range.nr", "uint16", "Ranks", base.DEC)
field("join.name", "string", "Job name")
field("join.key", "string", "Job key (FNV-1a-64 of the name)")
field("join.ranks", "uint16", "Stands for ranks", base.DEC)

field("status.state", "uint8", "State", base.DEC, states)
field("status.cause", "uint8", "Cause", base.DEC, causes)
field("status.wid_a", "uint16", "Rank a", base.DEC)
field("status.wid_b", "uint16", "Rank b", base.DEC)
field("status.ended", "uint64", "Ended epoch", base.DEC)
field("status.key", "uint64", "Job key", base.HEX)
field("status.inc", "uint64", "Incarnation", base.HEX)
field("status.p", "uint16", "P", base.DEC)
field("status.slots", "uint16", "Slots (S)", base.DEC)
field("status.se", "uint16", "Slots of lane E", base.DEC)
field("status.world", "uint16", "World", base.DEC)
field("status.shards", "uint16", "Shards", base.DEC)
field("status.flags", "uint16", "Flags", base.HEX)
field("status.flags.chunk_fixed", "bool", "P was fixed by the user", 16, nil, JOB_CHUNK_FIXED)
field("status.flags.check", "bool", "CHECK", 16, nil, JOB_CHECK)
field("status.field", "uint8", "Field", base.DEC, job_fields)
field("status.first", "uint16", "Rank of bit 0", base.DEC)
field("status.value_a", "uint64", "Value a", base.DEC)
field("status.value_b", "uint64", "Value b", base.DEC)
field("status.joined", "uint64", "Joined", base.HEX)
field("status.missing", "uint64", "Missing", base.HEX)
field("status.silent", "uint64", "Silent", base.HEX)
field("status.desc_a", "bytes", "Descriptor a")
field("status.desc_b", "bytes", "Descriptor b")

-- What the capture says.
field("job_name", "string", "Job name")
field("operation", "string", "Operation")
field("operation_in", "framenum", "Operation described in frame", base.NONE, frametype.NONE)
field("to_wid", "uint16", "To rank", base.DEC)
field("first_in", "framenum", "First seen in frame", base.NONE, frametype.NONE)
field("response_in", "framenum", "Answered in frame", base.NONE, frametype.RESPONSE)
field("response_to", "framenum", "Answers frame", base.NONE, frametype.REQUEST)
field("time", "relative_time", "Time since the request")
field("time_first", "relative_time", "Time since the first contribution")

local e = {}

local function expert_field(name, label, group, severity)
	e[name] = ProtoExpert.new("tally.expert." .. name, label, group, severity)
end

expert_field("malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)
expert_field("version", "Another protocol version", expert.group.PROTOCOL, expert.severity.WARN)
expert_field("seal", "Wrong seal", expert.group.CHECKSUM, expert.severity.ERROR)
expert_field("desc_crc", "Wrong CRC32C of the descriptor", expert.group.CHECKSUM, expert.severity.WARN)
expert_field("retransmission", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE)
expert_field("duplicate", "Duplicate", expert.group.SEQUENCE, expert.severity.NOTE)
expert_field("resent", "Result sent again", expert.group.SEQUENCE, expert.severity.NOTE)
expert_field("stale", "Stale round", expert.group.SEQUENCE, expert.severity.WARN)
expert_field("old_epoch", "Of an epoch that is over", expert.group.SEQUENCE, expert.severity.WARN)
expert_field("mismatch", "Mismatch", expert.group.PROTOCOL, expert.severity.ERROR)
expert_field("missing", "Missing ranks", expert.group.SEQUENCE, expert.severity.WARN)
expert_field("forming", "Ranks that have not joined", expert.group.SEQUENCE, expert.severity.CHAT)
expert_field("late", "Late result", expert.group.SEQUENCE, expert.severity.NOTE)
expert_field("refused", "Refused", expert.group.RESPONSE_CODE, expert.severity.ERROR)
expert_field("ended", "Epoch ended", expert.group.RESPONSE_CODE, expert.severity.WARN)
expert_field("unknown", "Unknown to the switch", expert.group.RESPONSE_CODE, expert.severity.NOTE)
expert_field("origin", "Inf or NaN", expert.group.PROTOCOL, expert.severity.NOTE)

tally.fields = f
tally.experts = e

local prefs = tally.prefs
prefs.ports = Pref.range("UDP ports", tostring(PORT), "UDP ports of switches", 65535)
prefs.values = Pref.bool("Show values", true, "One item for each value and exponent of a chunk")
prefs.late = Pref.uint("Late after (ms)", 100, "A result is late this long after the first contribution")
prefs.heuristic = Pref.bool("Other ports, too", true,
	"Recognise packets on any UDP port by what they are; those that are not valid are not recognised")

-- An ICMP error quotes the beginning of a packet: that one was not sent here and now.
local quoted = Field.new("icmp.type")

-- Checks: what wire_parse() of proto/wire.h says ------------------------------------------------------

local function check_chunk(m)
	local allowed = EMPTY

	if m.type == DATA then
		allowed = allowed + PARTIAL
	end
	if m.kind == ADD32SAT then
		allowed = allowed + SATURATED
	end
	if m.kind < ADD32 or m.kind > MAX8 then
		return "unknown or misplaced kind of contribution"
	end
	if band(m.flags, 0xf0 - allowed) ~= 0 then
		return "unknown or misplaced flag"
	end
	if m.len <= 0 or m.len > P_MAX or m.len % PAD ~= 0 or
	   (band(m.flags, EMPTY) ~= 0 and m.len ~= PAD) then
		return "length is not one the message type allows"
	end
end

local function control_length_ok(tvb, m)
	if m.len < PAD or m.len > P_MAX then
		return false
	end
	if m.type == JOIN then
		return m.len >= BODY and (tvb:len() < HEADER + 22 or
			m.len == math.max(BODY, get16(tvb, HEADER + 20)))
	end
	if m.type == STATUS then
		return m.len == STATUS_SHORT or m.len == STATUS_LONG or (m.len >= BODY and m.len % PAD == 0)
	end
	return m.len == (m.type == LEAVE and PAD or BODY)
end

local function check_control(tvb, m)
	if m.type < JOIN or m.type > KEEPALIVE then
		return "unknown message type"
	end
	if m.kind ~= 0 then
		return "unknown or misplaced kind of contribution"
	end
	if m.flags ~= 0 then
		return "unknown or misplaced flag"
	end
	if not control_length_ok(tvb, m) then
		return "length is not one the message type allows"
	end
end

local function p_valid(p)
	return p >= P_MIN and p <= P_MAX and p % P_STEP == 0
end

local function join_valid(body)
	local port, ports, ranges = get16(body, 22), get16(body, 24), get16(body, 26)

	if get16(body, 16) == 0 or get16(body, 18) == 0 or not p_valid(get16(body, 20)) then
		return false
	end
	if port == 0 or ports < 1 or ports > 64 or port + ports > 65536 or ranges > 3 then
		return false
	end
	for i = 0, ranges - 1 do
		local first, nr = get16(body, 28 + 4 * i), get16(body, 30 + 4 * i)
		if nr == 0 or first + nr > NOBODY then
			return false
		end
	end
	return body:raw(40, 64):match("^[\33-\126\128-\255]+\0*$") ~= nil
end

local function status_valid(body, m)
	local state, p = get8(body, 0), get16(body, 28)

	if state > REFUSED or (state == 0 and m.type ~= END) or get8(body, 1) > #causes then
		return false
	end
	if p ~= 0 and not p_valid(p) then
		return false
	end
	if state == RUNNING and m.type == STATUS and (p == 0 or get16(body, 30) == 0) then
		return false
	end
	return m.len < STATUS_LONG or get8(body, 40) <= #job_fields
end

local function check_fields(body, m)
	if m.type == STATUS or m.type == END then
		return not status_valid(body, m) and "a field is out of its range" or nil
	end
	if m.type ~= JOIN and not m.ask then
		return
	end
	local flags = get16(body, 14)
	if band(flags, 0xfffc) ~= 0 then
		return "unknown or misplaced flag"
	end
	if not join_valid(body) then
		return "a field is out of its range"
	end
	if (band(flags, JOB_CHECK) ~= 0) ~= m.sealed then
		return "length is not one the message type allows"
	end
end

-- The header of a message, and what is wrong with it, in m.wrong; m.whole if all of it is there.
local function parse(tvb)
	local size, have = tvb:reported_len(), tvb:len()
	local m = { size = size, whole = have >= size }

	if have < HEADER then
		m.wrong = size < HEADER and "shorter than a header" or "cut in the capture"
		m.cut = size >= HEADER
		return m
	end
	local first, second = get8(tvb, 0), get8(tvb, 1)
	m.version, m.type = rshift(first, 4), first % 16
	m.flags, m.kind = second - second % 16, second % 16
	m.job, m.epoch, m.slot = get16(tvb, 2), get48(tvb, 4), get16(tvb, 10)
	m.round, m.desc, m.wid = get32(tvb, 12), get32(tvb, 16), get16(tvb, 20)
	m.len = size - HEADER
	m.sealed = m.len % PAD == CRC_LEN
	m.len = m.sealed and m.len - CRC_LEN or m.len
	m.chunk = m.type == DATA or m.type == RESULT
	m.foreign = m.version ~= VERSION
	if not m.foreign then
		m.wrong = m.chunk and check_chunk(m) or not m.chunk and check_control(tvb, m) or nil
	end
	if m.sealed and m.whole and not m.wrong then
		m.seal_ok = crc32c(tvb:raw(0, HEADER + m.len)) == get32(tvb, HEADER + m.len)
	end
	if m.foreign or m.wrong or m.seal_ok == false then
		return m
	end
	m.ask = m.type == KEEPALIVE and m.job == 0 and m.whole and get8(tvb, HEADER + 40) ~= 0
	if m.whole and not m.chunk then
		m.wrong = check_fields(tvb(HEADER):tvb(), m)
	end
	m.cut = not m.whole and not m.wrong
	m.valid = m.whole and not m.wrong
	return m
end

-- Words, as proto/print.c has them -------------------------------------------------------------------

local function name_of(names, i)
	return names[i] or "unknown"
end

local function plural(nr, word)
	return nr == 1 and word or word .. "s"
end

-- "0-3, 5" of numbers that ascend.
local function runs(list)
	local out, i = {}, 1

	while i <= #list do
		local last = i
		while list[last + 1] == list[last] + 1 do
			last = last + 1
		end
		out[#out + 1] = last > i and string.format("%d-%d", list[i], list[last]) or tostring(list[i])
		i = last + 1
	end
	return #out > 0 and table.concat(out, ", ") or "none"
end

local function ranks_words(list)
	return plural(#list, "rank") .. " " .. runs(list)
end

local function range_words(first, nr)
	return nr == 1 and "rank " .. first or string.format("ranks %d-%d", first, first + nr - 1)
end

local function message_words(m)
	local words = { name_of(types, m.type) }

	if m.kind ~= 0 then
		words[#words + 1] = name_of(kinds, m.kind)
	end
	for _, flag in ipairs({ { EMPTY, "EMPTY" }, { PARTIAL, "PARTIAL" }, { SATURATED, "SATURATED" } }) do
		if band(m.flags, flag[1]) ~= 0 then
			words[#words + 1] = flag[2]
		end
	end
	words[#words + 1] = string.format("job %d epoch %.0f slot %d round %.0f", m.job, m.epoch, m.slot, m.round)
	if m.wid ~= NOBODY then
		words[#words + 1] = "wid " .. m.wid
	end
	if m.desc ~= 0 or m.kind ~= 0 then
		words[#words + 1] = string.format("desc %08x", m.desc)
	end
	words[#words + 1] = "len " .. m.len .. (m.sealed and " crc" or "")
	return table.concat(words, " ")
end

local function desc_parse(tvb, at)
	return {
		opno = get32(tvb, at), count = get64(tvb, at + 4),
		elements = tostring(tvb(at + 4, 8):uint64()), collective = get8(tvb, at + 12),
		dtype = get8(tvb, at + 13), op = get8(tvb, at + 14), width = get8(tvb, at + 15),
		root = get16(tvb, at + 16), world = get16(tvb, at + 18), p = get16(tvb, at + 20),
		flags = get16(tvb, at + 22),
	}
end

local function desc_words(desc)
	local words = name_of(collectives, desc.collective) .. string.format(" %.0f", desc.opno)

	if desc.collective == 2 then
		return words
	end
	return words .. string.format(" (%s %s, %s %s)", name_of(dtypes, desc.dtype), name_of(ops, desc.op),
		desc.elements, plural(desc.count, "element"))
end

-- What two descriptors differ in.
local function desc_difference(a, b)
	local names = { "opno", "collective", "dtype", "op", "elements", "width", "root", "world", "p", "flags" }
	local values = { collective = collectives, dtype = dtypes, op = ops }

	for _, name in ipairs(names) do
		if a[name] ~= b[name] then
			local words = values[name] or {}
			return string.format("the %s is %s and %s", name == "elements" and "count" or name,
				words[a[name]] or a[name], words[b[name]] or b[name])
		end
	end
	return "the descriptors differ"
end

local function status_value_words(s, tvb, at)
	if s.cause == DUPLICATE_RANK then
		return nil
	end
	if s.field == FIELD_RANGES then
		return range_words(get16(tvb, at + 4), get16(tvb, at + 6))
	end
	if s.field == FIELD_FLAGS then
		return string.format("0x%04x", get16(tvb, at + 6))
	end
	return tostring(tvb(at, 8):uint64())
end

local function wids_words(s)
	if s.wid_a == NOBODY then
		return ""
	end
	return s.wid_b == NOBODY and string.format(" (rank %d)", s.wid_a) or
		string.format(" (ranks %d and %d)", s.wid_a, s.wid_b)
end

-- Why a JOIN is refused: cause, field, and both values.
local function refusal_words(s, body)
	local words = name_of(causes, s.cause)

	if s.cause == DUPLICATE_RANK and s.long then
		return string.format("%s by %s:%d, heard %s ms ago", words, tostring(body(50, 4):ipv4()),
			get16(body, 54), tostring(body(56, 8):uint64()))
	end
	if s.field and s.field ~= 0 then
		words = string.format("%s: %s is %s%s and %s", words, name_of(job_fields, s.field),
			status_value_words(s, body, 48),
			s.wid_a ~= NOBODY and " for rank " .. s.wid_a or " here",
			status_value_words(s, body, 56))
		return words .. (s.wid_b ~= NOBODY and " for rank " .. s.wid_b or "")
	end
	return words .. wids_words(s)
end

-- What is read of a valid STATUS or END.
local function status_parse(body, m)
	local s = {
		state = get8(body, 0), cause = get8(body, 1), wid_a = get16(body, 2), wid_b = get16(body, 4),
		ended = get48(body, 6), key = body(12, 8):uint64():tohex(), long = m.len >= STATUS_LONG,
	}

	if s.long then
		s.world, s.field, s.first = get16(body, 34), get8(body, 40), get16(body, 44)
		s.missing = get_bits(body, 72)
		if s.field == FIELD_RANGES and s.state ~= REFUSED then
			s.awaited = range_words(get16(body, 52), get16(body, 54)) .. " (behind another switch)"
		elseif #s.missing > 0 then
			for i, bit in ipairs(s.missing) do
				s.missing[i] = s.first + bit
			end
			s.awaited = ranks_words(s.missing)
		end
	end
	if m.len >= BODY and body:raw(96, 32) ~= body:raw(128, 32) and s.cause ~= 0 then
		s.desc_a, s.desc_b = desc_parse(body, 96), desc_parse(body, 128)
	end
	if s.state == REFUSED or (s.state == FORMING and s.cause == PARAMETERS) then
		s.why = refusal_words(s, body)
	elseif s.cause ~= 0 then
		s.why = name_of(causes, s.cause) .. wids_words(s)
	end
	return s
end

local function name_words(body)
	local raw = body:raw(40, 64)
	local len = (raw:find("\0", 1, true) or 65) - 1

	return len > 0 and body(40, len):string(ENC_UTF_8) or "", raw:sub(1, len)
end

local function join_parse(body)
	local j = { inc = body(0, 8):uint64():tohex(), base = get48(body, 8), world = get16(body, 16),
		p = get16(body, 20), port = get16(body, 22), nr_ports = get16(body, 24),
		nr_ranges = get16(body, 26), first = get16(body, 28), nr = get16(body, 30),
		ranks = get16(body, 104) }
	local raw

	j.name, raw = name_words(body)
	j.key = job_key(raw)
	return j
end

-- What the capture says: once, in the order of the packets ---------------------------------------------

local state

local function state_reset()
	-- frames: by number. runs: by switch, handle and epoch. jobs: by switch and key. wids: by socket.
	state = { frames = {}, runs = {}, jobs = {}, wids = {}, newest = {}, asked = {}, told = {} }
end
state_reset()
tally.init = state_reset

local function note(rec, name, ...)
	rec.experts[#rec.experts + 1] = { name, string.format(...) }
end

local function run_of(m)
	local id = string.format("%s %d %.0f", m.switch, m.job, m.epoch)

	if not state.runs[id] then
		state.runs[id] = { cells = {}, descs = {}, members = {} }
	end
	return state.runs[id]
end

local function job_of(m, key)
	local id = m.switch .. " " .. key

	if not state.jobs[id] then
		state.jobs[id] = { members = {} }
	end
	return state.jobs[id]
end

-- Members that the capture knows of, without those that have contributed; nil: none.
local function missing_words(run, have)
	local missing = {}

	for _, members in ipairs({ run.members, run.job and run.job.members or {} }) do
		for wid in pairs(members) do
			if not have[wid] then
				missing[wid] = true
			end
		end
	end
	local list = {}
	for wid in pairs(missing) do
		list[#list + 1] = wid
	end
	table.sort(list)
	return #list > 0 and ranks_words(list) or nil
end

local function track_again(m, rec, run, cell)
	local mine = cell.have[m.wid]

	rec.first = mine.first
	if cell.results[m.wid] or cell.result then
		note(rec, "duplicate", "duplicate of frame %d, whose result is in frame %d", mine.first,
			cell.results[m.wid] or cell.result)
		rec.mark = "duplicate"
	else
		local missing = missing_words(run, cell.have)
		note(rec, "retransmission", "retransmission of frame %d: no result yet%s", mine.first,
			missing and ", missing: " .. missing or "")
		rec.mark = "retransmission"
	end
	mine.last, mine.time = m.frame, m.time
end

-- Against what came first in the cell; the length of an EMPTY one says nothing.
local function track_mismatch(m, rec, run, cell)
	local empty = band(m.flags, EMPTY) ~= 0
	local what

	if m.kind ~= cell.kind then
		what = string.format("the kind is %s and %s", name_of(kinds, cell.kind), name_of(kinds, m.kind))
	elseif m.desc ~= cell.desc then
		local a, b = run.descs[cell.desc], run.descs[m.desc]
		what = a and b and desc_difference(a.desc, b.desc) or
			string.format("the descriptor's CRC32C is %08x and %08x", cell.desc, m.desc)
	elseif not empty and cell.len and m.len ~= cell.len then
		what = string.format("the length is %d and %d", cell.len, m.len)
	end
	if what then
		note(rec, "mismatch", "differs from frame %d: %s for ranks %d and %d", cell.frame, what,
			cell.wid, m.wid)
		rec.mark = "mismatch"
	elseif not empty then
		cell.len = m.len
	end
end

local function cell_of(m, run)
	local id = m.slot * 2 + m.round % 2
	local cell = run.cells[id]

	if not cell or cell.round < m.round then
		cell = { round = m.round, kind = m.kind, desc = m.desc, frame = m.frame, wid = m.wid,
			time = m.time, have = {}, results = {} }
		run.cells[id] = cell
	end
	return cell
end

local function track_data(m, rec, run)
	local newest = state.newest[m.switch .. " " .. m.job]

	state.wids[m.src] = m.wid
	if newest and newest.epoch > m.epoch then
		note(rec, "old_epoch", "epoch %.0f is over: frame %d is of epoch %.0f", m.epoch, newest.frame,
			newest.epoch)
		rec.mark = "old epoch"
		return
	end
	local cell = cell_of(m, run)
	if cell.round > m.round then
		note(rec, "stale", "round %.0f of slot %d is over: frame %d is of round %.0f", m.round, m.slot,
			cell.frame, cell.round)
		rec.mark = "stale"
		return
	end
	run.members[m.wid] = true
	track_mismatch(m, rec, run, cell)
	if cell.have[m.wid] then
		track_again(m, rec, run, cell)
	elseif rec.mark ~= "mismatch" then
		cell.have[m.wid] = { first = m.frame, last = m.frame, time = m.time }
		cell.last = m.wid
	end
end

local function answered(rec, m, request)
	rec.response_to, rec.time = request.last, m.time - request.time
	for _, frame in ipairs({ request.first, request.last }) do
		local of = state.frames[frame]
		if of then
			of.response_in = of.response_in or m.frame
		end
	end
end

local function track_result(m, rec, run)
	local wid = state.wids[m.dst]
	local cell = run.cells[m.slot * 2 + m.round % 2]

	rec.wid = wid
	if not cell or cell.round < m.round then
		return
	end
	if cell.round > m.round then
		note(rec, "stale", "round %.0f of slot %d is over: frame %d is of round %.0f", m.round, m.slot,
			cell.frame, cell.round)
		return
	end
	local limit, mine = prefs.late / 1000, wid and cell.have[wid]
	rec.time_first = m.time - cell.time
	if not cell.result and rec.time_first > limit and cell.last then
		note(rec, "late", "%.1f ms after the first contribution (frame %d, rank %d); the last was of rank %d, in frame %d",
			rec.time_first * 1000, cell.frame, cell.wid, cell.last, cell.have[cell.last].first)
	end
	cell.result = cell.result or m.frame
	if mine then
		answered(rec, m, mine)
	end
	if wid and cell.results[wid] then
		rec.first, rec.mark = cell.results[wid], "sent again"
		note(rec, "resent", "the result in frame %d sent again", rec.first)
	elseif wid then
		cell.results[wid] = m.frame
	end
end

local function track_desc(m, rec, run, tvb)
	if m.kind == MAX8 and m.slot < LANE_E and band(m.flags, EMPTY) == 0 and not run.descs[m.desc] and
	   crc32c(tvb:raw(HEADER, DESC_LEN)) == m.desc then
		run.descs[m.desc] = { desc = desc_parse(tvb, HEADER), frame = m.frame }
	end
	rec.operation = run.descs[m.desc]
end

-- A question waits for its answer under the two ends.
local function track_question(m, rec, tvb)
	local id = m.src .. " " .. m.switch
	local list = state.asked[id] or {}
	local before = list[m.type]
	local ask = { first = m.frame, last = m.frame, time = m.time, job = m.job, slot = m.slot, round = m.round }

	if m.type == JOIN or m.ask then
		local j = join_parse(tvb(HEADER):tvb())
		local job = job_of(m, j.key)
		ask.key, ask.inc, rec.join = j.key, j.inc, j
		if job.world ~= j.world then
			job.members, job.world = {}, j.world
		end
		job.name = j.name
		if m.type == JOIN then
			for port = j.port, j.port + j.nr_ports - 1 do
				state.wids[m.src:gsub(":%d+$", ":" .. port)] = m.wid
			end
			job.members[m.wid] = true
			local first, nr = j.nr_ranges > 0 and j.first or 0, j.nr_ranges > 0 and j.nr or j.world
			for wid = first, first + math.min(nr, 64) - 1 do
				job.members[wid] = j.ranks == 0 or job.members[wid]
			end
		end
		if before and before.inc == j.inc and before.key == j.key and m.type == JOIN then
			rec.first, rec.mark = before.first, "retransmission"
			ask.first = before.first
			note(rec, "retransmission", "JOIN again: no answer yet to that in frame %d", before.last)
		end
	end
	list[m.type] = ask
	state.asked[id] = list
end

local function track_answer(m, rec, s)
	local list, best = state.asked[m.dst .. " " .. m.switch] or {}, nil

	for of, ask in pairs(list) do
		local same = ask.key and ask.key == s.key
		if not ask.key then
			same = ask.job == m.job and (of ~= KEEPALIVE or ask.slot == m.slot and ask.round == m.round)
		end
		if same and (not best or ask.last > list[best].last) then
			best = of
		end
	end
	if best then
		answered(rec, m, list[best])
		list[best] = nil
	end
end

local function track_status_state(m, rec, s)
	if s.state == REFUSED then
		note(rec, "refused", "refused: %s", s.why)
	elseif s.state == UNKNOWN and s.cause ~= LEFT then
		note(rec, "unknown", m.job == 0 and "no job has this handle: the answer to a probe" or
			"the switch does not know this job, or not this rank of it")
	elseif s.state == FORMING and s.cause == PARAMETERS then
		note(rec, "refused", "another rank was refused: %s", s.why)
	elseif s.awaited and s.state == FORMING then
		note(rec, "forming", "not joined yet: %s", s.awaited)
	elseif s.awaited then
		note(rec, "missing", "slot %d, round %.0f waits for %s", m.slot, m.round, s.awaited)
	end
end

-- The cause stays in every STATUS until the next one: it is news once.
local function track_ended(m, rec, s)
	local id = string.format("%s %s %.0f %d", m.switch, s.key, s.ended, s.cause)

	if s.ended == 0 or s.cause == 0 or state.told[id] then
		return
	end
	state.told[id] = true
	note(rec, "ended", "epoch %.0f ended: %s", s.ended, s.why)
	if s.desc_a then
		note(rec, "mismatch", "%s (rank %d) and %s (rank %d): %s", desc_words(s.desc_a), s.wid_a,
			desc_words(s.desc_b), s.wid_b, desc_difference(s.desc_a, s.desc_b))
	end
end

local function track_status(m, rec, tvb)
	local s = status_parse(tvb(HEADER):tvb(), m)
	local known = state.jobs[m.switch .. " " .. s.key]

	rec.status, rec.name = s, known and known.name
	if m.type == END then
		note(rec, "ended", "rank %d ends epoch %.0f%s", m.wid, m.epoch,
			s.cause ~= 0 and ": " .. s.why or "")
		return
	end
	if m.job ~= 0 and (s.state == RUNNING or s.state == FORMING) then
		local id = m.switch .. " " .. m.job
		local newest = state.newest[id]
		if not newest or newest.epoch < m.epoch then
			state.newest[id] = { epoch = m.epoch, frame = m.frame }
		end
		run_of(m).job = job_of(m, s.key)
	end
	track_status_state(m, rec, s)
	track_ended(m, rec, s)
	track_answer(m, rec, s)
end

local function track(m, tvb)
	local rec = { experts = {} }

	state.frames[m.frame] = rec
	if not m.valid or m.seal_ok == false or m.foreign then
		return
	end
	m.switch = (m.type == RESULT or m.type == STATUS) and m.src or m.dst
	if m.chunk then
		local run = run_of(m)
		track_desc(m, rec, run, tvb)
		rec.name = run.job and run.job.name
		if m.type == DATA then
			track_data(m, rec, run)
		else
			track_result(m, rec, run)
		end
		return
	end
	if m.type ~= STATUS then
		track_question(m, rec, tvb)
	end
	if m.type == STATUS or m.type == END then
		track_status(m, rec, tvb)
	end
end

-- The tree -------------------------------------------------------------------------------------------

-- Of a field that the packet has not to its end: nothing.
local function put(tree, name, tvb, at, len)
	if tvb:len() >= at + len then
		return tree:add(f[name], tvb(at, len))
	end
end

local function put_all(tree, tvb, at, list)
	for _, item in ipairs(list) do
		put(tree, item[1], tvb, at + item[2], item[3])
	end
end

local function put_wid(tree, name, tvb, at)
	local item = put(tree, name, tvb, at, 2)

	if item and get16(tvb, at) == NOBODY then
		item:append_text(" (none)")
	end
end

local function put_generated(tree, name, value)
	if value ~= nil then
		tree:add(f[name], value):set_generated()
	end
end

local function put_time(tree, name, seconds)
	if seconds then
		local whole = math.floor(seconds)
		local nano = math.floor((seconds - whole) * 1000000000 + 0.5)
		tree:add(f[name], NSTime.new(whole, math.min(nano, 999999999))):set_generated()
	end
end

local function put_flags(tree, name, tvb, at)
	local item = put(tree, name, tvb, at, 2)

	for _, flag in ipairs({ "chunk_fixed", "check", "saturate" }) do
		if item and f[name .. "." .. flag] then
			item:add(f[name .. "." .. flag], tvb(at, 2))
		end
	end
end

local function put_header(tree, tvb, m)
	put(tree, "version", tvb, 0, 1)
	put(tree, "type", tvb, 0, 1)
	local flags = put(tree, "flags", tvb, 1, 1)
	for _, flag in ipairs({ "empty", "partial", "saturated", "reserved" }) do
		put(flags, "flags." .. flag, tvb, 1, 1)
	end
	put_all(tree, tvb, 0, { { "kind", 1, 1 }, { "job", 2, 2 }, { "epoch", 4, 6 }, { "slot", 10, 2 } })
	if m.chunk then
		put_generated(tree, "lane", m.slot < LANE_E and "E" or "D")
	end
	put(tree, "round", tvb, 12, 4)
	put(tree, "desc_crc", tvb, 16, 4)
	put_wid(tree, "wid", tvb, 20)
	if m.len >= 0 then
		put_generated(tree, "len", m.len)
	end
end

local desc_labels = { desc = "Descriptor", ["status.desc_a"] = "Descriptor a", ["status.desc_b"] = "Descriptor b" }

local function put_desc(tree, name, tvb, at, crc)
	local item = put(tree, name, tvb, at, DESC_LEN)

	if not item then
		return
	end
	if tvb:raw(at, DESC_LEN) == string.rep("\0", DESC_LEN) then
		item:append_text(" (none)")
		return
	end
	item:set_text(desc_labels[name] .. ": " .. desc_words(desc_parse(tvb, at)))
	put_all(item, tvb, at, { { "desc.opno", 0, 4 }, { "desc.count", 4, 8 }, { "desc.collective", 12, 1 },
		{ "desc.dtype", 13, 1 }, { "desc.op", 14, 1 }, { "desc.width", 15, 1 }, { "desc.root", 16, 2 },
		{ "desc.world", 18, 2 }, { "desc.p", 20, 2 } })
	put_flags(item, "desc.flags", tvb, at + 22)
	if crc then
		local good = crc32c(tvb:raw(at, DESC_LEN)) == crc
		put_generated(item, "desc_crc.status", good and "good" or "bad")
		if not good then
			item:add_proto_expert_info(e.desc_crc, "the header's CRC32C is not that of the descriptor")
		end
	end
end

local function put_values(tree, name, tvb, at, nr, width)
	if not prefs.values or nr <= 0 or not tree:referenced(f[name]) then
		return
	end
	for i = 0, nr - 1 do
		tree:add(f[name], tvb(at + i * width, width)):prepend_text("[" .. i .. "] ")
	end
end

-- The lowest rank that the 16 bytes name; nil: none.
local function origin_rank(tvb, at)
	for i = 0, ORIGIN_LEN - 1 do
		local mark = get8(tvb, at + i)
		if mark ~= 0 then
			return i * 255 + 255 - mark
		end
	end
end

-- Exponents are there for sums of floats; behind the last is padding, whose length one segment tells.
local function nr_exponents(desc, len)
	if desc.collective ~= 1 or desc.dtype == 4 or desc.op > 2 then
		return 0
	end
	return desc.count <= 128 * desc.p and math.min(len, math.ceil(desc.count / 256)) or len
end

local function put_lane_e(tree, tvb, m)
	local at, len = HEADER, math.min(m.len, tvb:len() - HEADER)

	put_desc(tree, "desc", tvb, at, m.desc)
	if len < EXPONENTS then
		return
	end
	local origin, rank = put(tree, "origin", tvb, at + ORIGIN, ORIGIN_LEN), origin_rank(tvb, at + ORIGIN)
	if rank then
		put_generated(origin, "origin.rank", rank)
		origin:add_proto_expert_info(e.origin, "rank " .. rank .. " has Inf or NaN in this segment")
	end
	local nr = nr_exponents(desc_parse(tvb, at), len - EXPONENTS)
	if nr > 0 then
		local item = tree:add(f.payload, tvb(at + EXPONENTS, nr))
		item:set_text(nr .. plural(nr, " exponent"))
		put_values(item, "exponent", tvb, at + EXPONENTS, nr, 1)
	end
	if len > EXPONENTS + nr then
		put(tree, "padding", tvb, at + EXPONENTS + nr, len - EXPONENTS - nr)
	end
end

-- Four digits of 16 bits, the lowest first, each of which may be a sum of several ranks'.
local function put_close(tree, name, tvb, at)
	if tvb:len() < at + 16 then
		return
	end
	local total = Int64.new(0, 0)
	for i = 3, 0, -1 do
		total = total:lshift(16) + Int64.new(tvb(at + 4 * i, 4):uint(), 0)
	end
	tree:add(f[name], tvb(at, 16), total)
end

-- CLOSE looks like a data chunk; it is one for sure if the last of the data is unlike it.
local function is_close(m, desc)
	if not desc or not m.sealed or m.kind ~= ADD32 or m.len ~= PAD or desc.collective ~= 1 or
	   desc.count == 0 or desc.op > 2 or desc.width == 0 or desc.p == 0 then
		return false
	end
	local bytes = desc.count % (desc.p / desc.width) * desc.width
	return desc.width == 2 or bytes == 0 and desc.p ~= PAD or bytes > PAD
end

local function put_chunk(tree, tvb, m, rec)
	local len = math.min(m.len, tvb:len() - HEADER)
	local width = m.kind == ADD16 and 2 or m.kind == MAX8 and 0 or 4

	if len <= 0 then
		return
	end
	if m.kind == MAX8 and m.slot < LANE_E and band(m.flags, EMPTY) == 0 and len >= DESC_LEN then
		put_lane_e(tree, tvb, m)
		return
	end
	local item = put(tree, "payload", tvb, HEADER, len)
	if band(m.flags, EMPTY) ~= 0 or width == 0 then
		return
	end
	if len == PAD and is_close(m, rec.operation and rec.operation.desc) then
		item:set_text("CLOSE")
		put_close(item, "close.sum", tvb, HEADER)
		put_close(item, "close.weighted", tvb, HEADER + 16)
		return
	end
	local nr = math.floor(len / width)
	item:set_text(string.format("%d %s of %d bits", nr, plural(nr, "value"), 8 * width))
	put_values(item, width == 2 and "value16" or "value32", tvb, HEADER, nr, width)
end

local function put_join(tree, tvb)
	local at = HEADER

	put_all(tree, tvb, at, { { "join.inc", 0, 8 }, { "join.base", 8, 6 } })
	put_flags(tree, "join.flags", tvb, at + 14)
	put_all(tree, tvb, at, { { "join.world", 16, 2 }, { "join.slots", 18, 2 }, { "join.p", 20, 2 },
		{ "join.port", 22, 2 }, { "join.nr_ports", 24, 2 }, { "join.nr_ranges", 26, 2 } })
	if tvb:len() < at + 106 then
		return
	end
	for i = 0, math.min(get16(tvb, at + 26), 3) - 1 do
		local where = at + 28 + 4 * i
		local item = put(tree, "join.range", tvb, where, 4)
		item:set_text("Range: " .. range_words(get16(tvb, where), get16(tvb, where + 2)))
		put_all(item, tvb, where, { { "join.range.first", 0, 2 }, { "join.range.nr", 2, 2 } })
	end
	local name, raw = name_words(tvb(at):tvb())
	tree:add(f["join.name"], tvb(at + 40, 64), name)
	put_generated(tree, "join.key", job_key(raw))
	put(tree, "join.ranks", tvb, at + 104, 2)
end

local function put_mask(tree, name, tvb, at, first)
	local item = put(tree, name, tvb, at, 8)

	if item then
		local bits = get_bits(tvb, at)
		for i, bit in ipairs(bits) do
			bits[i] = first + bit
		end
		item:append_text(" (" .. runs(bits) .. ")")
	end
end

local function put_status(tree, tvb, m)
	local at = HEADER

	put_all(tree, tvb, at, { { "status.state", 0, 1 }, { "status.cause", 1, 1 } })
	put_wid(tree, "status.wid_a", tvb, at + 2)
	put_wid(tree, "status.wid_b", tvb, at + 4)
	put_all(tree, tvb, at, { { "status.ended", 6, 6 }, { "status.key", 12, 8 }, { "status.inc", 20, 8 },
		{ "status.p", 28, 2 }, { "status.slots", 30, 2 } })
	if m.len < STATUS_LONG or tvb:len() < at + STATUS_LONG then
		return
	end
	put_all(tree, tvb, at, { { "status.se", 32, 2 }, { "status.world", 34, 2 }, { "status.shards", 36, 2 } })
	put_flags(tree, "status.flags", tvb, at + 38)
	put_all(tree, tvb, at, { { "status.field", 40, 1 }, { "status.first", 44, 2 },
		{ "status.value_a", 48, 8 }, { "status.value_b", 56, 8 } })
	local first = get16(tvb, at + 44)
	put_mask(tree, "status.joined", tvb, at + 64, first)
	put_mask(tree, "status.missing", tvb, at + 72, first)
	put_mask(tree, "status.silent", tvb, at + 80, first)
	if m.len >= BODY then
		put_desc(tree, "status.desc_a", tvb, at + 96)
		put_desc(tree, "status.desc_b", tvb, at + 128)
	end
end

local function put_seal(tree, tvb, m)
	local item = put(tree, "seal", tvb, HEADER + m.len, CRC_LEN)

	if not item then
		return
	end
	if m.seal_ok == nil then
		put_generated(item, "seal.status", "not looked at")
		return
	end
	put_generated(item, "seal.status", m.seal_ok and "good" or "bad")
	item:append_text(m.seal_ok and " (good)" or " (bad)")
	if not m.seal_ok then
		item:add_proto_expert_info(e.seal, "wrong CRC32C: corrupted on the way")
	end
end

local function put_body(tree, tvb, m, rec)
	if m.chunk then
		put_chunk(tree, tvb, m, rec)
	elseif m.type == JOIN or m.ask then
		put_join(tree, tvb)
	elseif m.type == STATUS or m.type == END then
		put_status(tree, tvb, m)
	elseif m.len > 0 and tvb:len() > HEADER then
		put(tree, "padding", tvb, HEADER, math.min(m.len, tvb:len() - HEADER))
	end
	if m.sealed then
		put_seal(tree, tvb, m)
	end
end

local function put_capture(tree, rec)
	local known = rec.operation

	put_generated(tree, "job_name", rec.name)
	if known then
		put_generated(tree, "operation", desc_words(known.desc))
		put_generated(tree, "operation_in", known.frame)
	end
	put_generated(tree, "to_wid", rec.wid)
	put_generated(tree, "first_in", rec.first)
	put_generated(tree, "response_in", rec.response_in)
	put_generated(tree, "response_to", rec.response_to)
	put_time(tree, "time", rec.time)
	put_time(tree, "time_first", rec.time_first)
	for _, item in ipairs(rec.experts) do
		tree:add_proto_expert_info(e[item[1]], item[2])
	end
end

local function info_words(m, rec)
	local words = message_words(m)

	if rec.mark then
		words = "[" .. rec.mark .. "] " .. words
	end
	if m.ask then
		words = words .. " ASK"
	end
	if rec.join then
		words = string.format("%s: %s, world %d", words, rec.join.name, rec.join.world)
	elseif rec.status then
		local s = rec.status
		words = words .. (s.state ~= 0 and ": " .. name_of(states, s.state) or "")
		words = words .. (s.why and ", " .. s.why or "")
		words = words .. (s.awaited and s.state ~= REFUSED and ", waits for " .. s.awaited or "")
	elseif rec.operation and m.kind == MAX8 then
		words = words .. ": " .. desc_words(rec.operation.desc)
	end
	return words
end

local function info(m, rec)
	if not m.type then
		return m.cut and "cut in the capture" or "[malformed: shorter than a header]"
	end
	if m.foreign then
		return string.format("another protocol version: %d", m.version)
	end
	if m.seal_ok == false then
		return "[wrong seal] " .. message_words(m)
	end
	if m.wrong then
		return "[malformed: " .. m.wrong .. "] " .. message_words(m)
	end
	return info_words(m, rec)
end

local function show(tvb, pinfo, tree, m)
	local rec = not m.quoted and state.frames[m.frame] or { experts = {} }
	local words = info(m, rec)
	local item = tree:add(tally, tvb(), "Tally: " .. words)

	if not m.quoted then
		pinfo.cols.protocol = "Tally"
		pinfo.cols.info:set(words)
	end
	if m.wrong and not m.cut and not m.quoted then
		item:add_proto_expert_info(e.malformed, m.wrong)
	elseif m.foreign then
		item:add_proto_expert_info(e.version, "version " .. m.version .. ", not " .. VERSION)
	end
	if m.type then
		put_header(item, tvb, m)
		-- What another version has behind these is unknown, but for its seal.
		if not m.foreign then
			put_body(item, tvb, m, rec)
		elseif m.sealed then
			put_seal(item, tvb, m)
		end
	end
	put_capture(item, rec)
end

local function dissect(tvb, pinfo, tree, m)
	m.frame, m.time, m.quoted = pinfo.number, pinfo.rel_ts, quoted() ~= nil
	m.src = tostring(pinfo.src) .. ":" .. pinfo.src_port
	m.dst = tostring(pinfo.dst) .. ":" .. pinfo.dst_port
	if not pinfo.visited and not m.quoted then
		track(m, tvb)
	end
	show(tvb, pinfo, tree, m)
	return tvb:len()
end

function tally.dissector(tvb, pinfo, tree)
	if tvb:len() == 0 then
		return 0
	end
	return dissect(tvb, pinfo, tree, parse(tvb))
end

local function is_ours(port)
	for first, last in prefs.ports:gmatch("(%d+)%-?(%d*)") do
		if port >= tonumber(first) and port <= tonumber(last ~= "" and last or first) then
			return true
		end
	end
	return false
end

-- On another port a packet has to be valid in all that it says, and of our times. On ours any will do: it comes here
-- if another protocol has the rank's port, and Wireshark was told to try this first.
local function recognise(tvb, pinfo, tree)
	if prefs.heuristic and tvb:len() > 0 and (is_ours(pinfo.src_port) or is_ours(pinfo.dst_port)) then
		dissect(tvb, pinfo, tree, parse(tvb))
		return true
	end
	if not prefs.heuristic or tvb:len() < HEADER + PAD or rshift(get8(tvb, 0), 4) ~= VERSION then
		return false
	end
	local m = parse(tvb)
	local timely = m.epoch > EPOCH_EARLY and m.epoch < EPOCH_LATE and m.job ~= 0
	if not m.valid or m.seal_ok == false or not (timely or m.type == JOIN and m.epoch == 0 and m.job == 0) then
		return false
	end
	dissect(tvb, pinfo, tree, m)
	pinfo.conversation = tally
	return true
end
tally:register_heuristic("udp", recognise)

local udp, ports = DissectorTable.get("udp.port"), tostring(PORT)
udp:add(ports, tally)

function tally.prefs_changed()
	if prefs.ports ~= ports then
		if ports ~= "" then
			udp:remove(ports, tally)
		end
		ports = prefs.ports
		if ports ~= "" then
			udp:add(ports, tally)
		end
	end
end
