#!lua name=topicrawl_frontier
-- The shared frontier: every operation is one run of this function, so it happens wholly or not at all. It is kept by
-- the server under a name of its own for each text; a server that is full refuses it before it has begun.
--
-- KEYS[1]  where the crawl's keys begin; all of them carry one hash tag
-- ARGV     epoch, life of the server, time (empty: the server's own), worker, operation, what it needs
--
-- :c           hash   facts, counters and the clock of the crawl
-- :known:<n>   hash   fingerprint → code of a link that is done, dropped or put away; small, so that Redis packs it
-- :links       hash   fingerprint → a link that waits or is out
-- :hosts       hash   host → what politeness knows of it, and the best of its links that wait: most hosts have few
-- :queue:<h>   zset   the other waiting links of a host by score; members are rank + fingerprint
-- :ready       zset   rank + host by the score of its best link: hosts that may be asked now
-- :wait        zset   host by the time from which it may be asked
-- :leases      hash   token → what is out, where, with whom; :ends the same by time
-- :reasons     hash   reason → number
-- :attic       hash   number → links that were put away because the queue is too long, packed by a worker; :packs zset
--                     number by the score of the best link in it
-- :workers     hash   worker → when it was heard of last, and what it said of itself
-- the fact `pace` names a zset of all crawls of the server: host by the time before which nobody may ask it; and, with
-- `:wanted` behind it, a hash of the hosts that one crawl has and another one waits for
--
-- A rank is the complement of the number a link was given when it was found: among equal scores the greatest member
-- is the first one found, and that is the one Redis gives first from behind.

local INF, LAST_RANK = 1 / 0, 2 ^ 48 - 1
local LINK, LINK_SIZE = '<ddI6BI2I2I2', 29 -- score, first score, number, out?, attempts, depth, length of the text
-- pages, leased, which marks may be closed, flags, rank in READY (0: it is not there); where a flag says so, own delay,
-- last, hold, blocked and due; then its best links, best first
local HOST, HOST_SIZE, TIMES, TIMES_SIZE = '<I4I4I4B>I6', 19, '<ddddd', 40
local HAS_QUEUE, HAS_TIMES = 1, 2
local STAND, STAND_SIZE, MEMBER = '<d>I6c9', 23, '>I6c9' -- score, rank and fingerprint of a link that waits
local LINE_AND_STAND = 'c0' .. STAND
local ROOM = 8 * STAND_SIZE -- for so many links there is room with their host
local SAVE, FILE, MOVE = 1, 2, 3 -- what is to be done with a host: write it down, see where it belongs, its best link too
-- fingerprint, score, whether it replaces, host; depth, length of the text, text and rest of the place as they are stored
local OFFER = '<c9dBHc0I4c0'
local END = '<Bc0c9dBHc0I4' -- token, fingerprint, wait, unused, reason, number of offers, which follow
local LOAD = 200 -- known links in a bucket on average; the fullest stay below the 512 that Redis packs
local SETTLED, COMPLETED, DROPPED, AWAY = 0, 1, 2, 3
local LATE = 0.2 -- of a lease: nobody starts a request in this last part of it
local FRESH = 4 -- seconds after which a worker asks no host any more by what it was told before
local LATELY = 32 -- leases by whose scores it is judged what is worth fetching
local TURN = 0.25 -- seconds in which a worker of another crawl notices that its turn has come
local AHEAD = 3600 -- seconds for which another crawl may hold a host

-- Facts, and how many of them, from the second on, a run may change.
local NAMES, CHANGED = {
  'epoch', 'life', 'lately', 'outer', 'offset', 'inner', 'crashed', 'next', 'token', 'buckets', 'closed', 'waiting',
  'leased', 'done', 'dropped', 'hosts', 'kept', 'refused', 'away', 'pace', 'delay', 'parallel', 'host_pages', 'lease',
  'attempts', 'capacity', 'pages', 'paused' }, 19

-- The language's own functions, which are not there yet while the server reads this.
local call, sub, find, byte, format, match, concat, sort, remove
local pack, unpack_, band, bor, lshift, max, min, floor

local function meet()
  call, sub, find, byte, format, match = redis.call, string.sub, string.find, string.byte, string.format, string.match
  concat, sort, remove = table.concat, table.sort, table.remove
  pack, unpack_, band, bor, lshift = struct.pack, struct.unpack, bit.band, bit.bor, bit.lshift
  max, min, floor = math.max, math.min, math.floor
end

-- What belongs to one run is set by `begin`.
local ARGV
local base, C, LINKS, HOSTS, READY, WAIT, LEASES, ENDS, REASONS, ATTIC, PACKS, WANTED
local c, before, PARALLEL, HOST_PAGES, worker, dirty, time, now, level
local seen, links, changed_links, codes -- hosts and links that were read, and which of the links are to be written
local kept, kept_count -- links as they are to be written, before those that were changed
local told, unwanted, paces, wants -- what other crawls are told, and what they have said
local ready_come, ready_gone, wait_come, wait_gone -- scores and members that come, members that go

local function precise(number)
  return format('%.17g', number)
end

-- By name; written out, because a table that grows costs more than all its values.
local function facts_of(f)
  return {
    life = f[2], lately = f[3], outer = tonumber(f[4]), offset = tonumber(f[5]), inner = tonumber(f[6]),
    crashed = tonumber(f[7]), next = tonumber(f[8]), token = tonumber(f[9]), buckets = tonumber(f[10]),
    closed = tonumber(f[11]), waiting = tonumber(f[12]), leased = tonumber(f[13]), done = tonumber(f[14]),
    dropped = tonumber(f[15]), hosts = tonumber(f[16]), kept = tonumber(f[17]), refused = tonumber(f[18]),
    away = tonumber(f[19]), pace = f[20], delay = tonumber(f[21]), parallel = tonumber(f[22]),
    host_pages = tonumber(f[23]), lease = tonumber(f[24]), attempts = tonumber(f[25]), capacity = tonumber(f[26]),
    pages = tonumber(f[27]), paused = tonumber(f[28]) }
end

-- How many of the buckets of known links have been split in this round.
local function round()
  local size = 1
  while size * 2 <= c.buckets do size = size * 2 end
  return size
end

-- Returns whether the crawl is there.
local function begin(keys, argv)
  if not call then meet() end
  ARGV, base = argv, keys[1]
  C, LINKS, HOSTS, READY, WAIT = base .. ':c', base .. ':links', base .. ':hosts', base .. ':ready', base .. ':wait'
  LEASES, ENDS, REASONS = base .. ':leases', base .. ':ends', base .. ':reasons'
  ATTIC, PACKS = base .. ':attic', base .. ':packs'
  local facts = call('HMGET', C, unpack(NAMES))
  if facts[1] ~= ARGV[1] then return false end
  c, before = facts_of(facts), facts_of(facts)
  PARALLEL = c.parallel > 0 and c.parallel or INF
  HOST_PAGES = c.host_pages > 0 and c.host_pages or INF
  WANTED = c.pace .. ':wanted' -- host → when another crawl has asked for it in vain, and which one
  worker, dirty = ARGV[4], ARGV[3] ~= ''
  seen, links, changed_links, codes = {}, {}, {}, {}
  kept, kept_count = {}, 0
  told, unwanted, paces, wants = {}, {}, {}, {}
  ready_come, ready_gone, wait_come, wait_gone = {}, {}, {}, {}
  level = round()
  return true
end

-- Time: forward only, also when the clock is set back.
local function look_at_the_clock()
  time = tonumber(ARGV[3])
  if not time then
    local now = call('TIME')
    time = now[1] + now[2] / 1e6
  end
  if time < c.outer then
    c.offset = c.offset + c.outer - time
    dirty = true
  end
  c.outer = time
  now = max(c.inner, time + c.offset)
  c.inner = now
  if c.life ~= ARGV[2] then
    -- Another life of the server: the end of its log may be gone, and with it leases whose requests are yet to leave.
    if c.life ~= '' then c.crashed = now + min(FRESH, (1 - LATE) * c.lease) end
    c.life, dirty = ARGV[2], true
  end
end

-- Hosts

local function host_from(name, stored)
  local h
  if stored then
    local pages, leased, shut, flags, filed = unpack_(HOST, stored)
    local score, top, at = -INF, 0, flags >= HAS_TIMES and HOST_SIZE + TIMES_SIZE or HOST_SIZE
    local line = sub(stored, at + 1)
    if line ~= '' then score, top = unpack_('<d>I6', line) end
    h = {
      name = name, pages = pages, leased = leased, shut = shut, more = flags % 2 == HAS_QUEUE, filed = filed,
      line = line, score = score, top = top, change = 0, times = flags >= HAS_TIMES and stored }
  else
    h = {
      name = name, pages = 0, leased = 0, shut = 0, more = false, filed = 0, line = '', score = -INF, top = 0,
      change = FILE, times = false }
    c.hosts = c.hosts + 1
  end
  seen[name] = h
  return h
end

-- When it may be asked: of most hosts nobody needs to know, because a link joins those that wait; and most have never
-- been asked.
local function wake(h)
  if h.own then return h end
  if h.times then
    local last
    h.own, last, h.hold, h.blocked, h.due = unpack_(TIMES, h.times, HOST_SIZE + 1)
    h.last = max(last, c.crashed)
  else
    h.own, h.last, h.hold, h.blocked, h.due = 0, c.crashed, -INF, -INF, -INF
  end
  return h
end

-- As it is stored.
local function host_packed(h)
  local flags, line = h.more and HAS_QUEUE or 0, h.line
  if not h.own then
    if not h.times then return pack('<I4I4I4B>I6c0', h.pages, h.leased, h.shut, flags, h.filed, line) end
    line = sub(h.times, HOST_SIZE + 1, HOST_SIZE + TIMES_SIZE) .. line
  elseif h.own == 0 and max(h.hold, h.blocked, h.due) == -INF and h.last <= c.crashed then
    return pack('<I4I4I4B>I6c0', h.pages, h.leased, h.shut, flags, h.filed, line)
  else
    line = pack('<dddddc0', h.own, h.last, h.hold, h.blocked, h.due, line)
  end
  return pack('<I4I4I4B>I6c0', h.pages, h.leased, h.shut, flags + HAS_TIMES, h.filed, line)
end

local function host(name)
  return wake(seen[name] or host_from(name, call('HGET', HOSTS, name)))
end

local function delay_of(h)
  return max(c.delay, h.own)
end

-- Hosts that are about to be looked at are read in one go.
local function read_hosts(names)
  local missing, count = {}, 0
  for i = 1, #names do
    local name = names[i]
    if seen[name] == nil then
      count = count + 1
      missing[count], seen[name] = name, false
    end
  end
  for i = 1, count, 1000 do
    local last = min(i + 999, count)
    local found = call('HMGET', HOSTS, unpack(missing, i, last))
    for n = 1, #found do host_from(missing[i + n - 1], found[n]) end
  end
end

local function queue_of(h)
  return base .. ':queue:' .. h.name
end

local function touch(h)
  if h.change < FILE then h.change = FILE end
  return h
end

local function save(h)
  if h.change < SAVE then h.change = SAVE end
end

local function ready_at(h)
  return max(h.last + delay_of(h), h.hold, h.blocked)
end

-- Other crawls on this server are told until when a host is taken.
local function tell(h, at)
  if c.pace ~= '' then told[h.name] = at - c.offset end
end

-- For as long as it is out; should the worker die, others wait from the last moment at which it may have asked.
local function tell_out(h)
  tell(h, now + max(c.lease, (1 - LATE) * c.lease + delay_of(h)))
end

-- A host is free again after its delay, and if another crawl has asked for it meanwhile, that one goes first.
local function tell_free(h)
  if c.pace == '' then return end
  tell(h, max(h.last + delay_of(h), h.hold))
  local want = wants[h.name]
  if want == nil then want = call('HGET', WANTED, h.name) end
  local at, who = match(want or '', '^(%S+) (.*)$')
  -- It asks again once in a delay; whoever does not has lost interest.
  if at and who ~= base and time - at < 2 * delay_of(h) + 2 then
    h.hold = max(h.hold, h.last + 2 * delay_of(h), now + delay_of(h)) + TURN
  end
end

-- Whether another crawl has the host at the moment; then it is looked at again a little later.
local function is_taken(h)
  if c.pace == '' then return false end
  local until_ = told[h.name]
  if not until_ then
    local said = paces[h.name]
    if said == nil then said = call('ZSCORE', c.pace, h.name) end
    until_ = tonumber(said or '-inf')
  end
  -- What lies further ahead was written before the clock was set back.
  if until_ <= time or until_ > time + max(AHEAD, 2 * c.lease) then return false end
  call('HSET', WANTED, h.name, precise(time) .. ' ' .. base)
  h.hold = max(h.hold, now + min(until_ - time, max(delay_of(h), 0.05)))
  return true
end

local function is_spent(h, credit)
  return h.pages - (credit or 0) >= HOST_PAGES
end

local function postpone(h, wait)
  if wait > 0 and now + wait > h.hold then
    h.hold = now + wait
  end
end

-- One command for many values.
local function all(command, key, values)
  for i = 1, #values, 1000 do
    call(command, key, unpack(values, i, min(i + 999, #values)))
  end
end

-- The better score comes first, and among equal ones what was found first.
local function precedes(score, rank, other_score, other_rank)
  if score ~= other_score then return score > other_score end
  return rank > other_rank
end

-- Links for which there is no room with their host. They are written together, at the end or before anybody looks.
local function stand_behind(h, score, member)
  local added = h.added
  if not added then
    added = {}
    h.added = added
  end
  local count = #added
  added[count + 1], added[count + 2] = score, member
  if not h.more then
    h.more = true
    save(h)
  end
end

local function line_written(h)
  if h.added then
    all('ZADD', queue_of(h), h.added)
    h.added = false
  end
end

-- Whether the best link of a host is yet to be found in its queue.
local function is_vacant(h)
  return h.more and h.line == ''
end

local function set_line(h, line)
  h.line, h.change = line, MOVE
  if line ~= '' then
    h.score, h.top = unpack_('<d>I6', line)
  else
    h.score, h.top = -INF, 0
  end
end

-- The best link of a host has gone: the next one steps forward, or is found in the queue when it is needed.
local function advance(h)
  set_line(h, sub(h.line, STAND_SIZE + 1))
end

-- What is taken away is named, so that reading the log again takes the same away.
local function look(h)
  line_written(h)
  local most = ROOM / STAND_SIZE
  local tops = call('ZRANGE', queue_of(h), -most, -1, 'WITHSCORES')
  local count, members, stands = #tops / 2, {}, {}
  for i = 1, count do
    local member = tops[2 * (count - i) + 1]
    members[i], stands[i] = member, pack('<d', tonumber(tops[2 * (count - i) + 2])) .. member
  end
  all('ZREM', queue_of(h), members)
  h.more = count == most
  set_line(h, concat(stands))
end

-- All of its links into the queue.
local function retreat(h)
  local line = h.line
  for at = 1, #line, STAND_SIZE do
    stand_behind(h, unpack_('<d', line, at), sub(line, at + 8, at + STAND_SIZE - 1))
  end
  set_line(h, '')
  line_written(h)
end

-- Where a link stands in the line of its host.
local function place_of(h, rank, mark)
  local line, member, at = h.line, pack(MEMBER, rank, mark), 1
  while true do
    at = find(line, member, at, true)
    if not at or at % STAND_SIZE == 9 then return at and at - 8 end
    at = at + 1
  end
end

-- Whether a link is for the queue: everybody with the host comes before everybody in the queue.
local function is_behind(h, score, rank)
  local size = #h.line
  if size == 0 or not h.more and size < ROOM then return h.more end
  local other, other_rank = unpack_('<d>I6', h.line, size - STAND_SIZE + 1)
  return not precedes(score, rank, other, other_rank)
end

-- A link takes its place among those of its host; who stood last may have to leave the line.
local function line_up(mark, score, rank, h)
  local line = h.line
  if line == '' and not h.more then
    h.line, h.score, h.top, h.change = pack(STAND, score, rank, mark), score, rank, MOVE
    return
  elseif is_behind(h, score, rank) then
    stand_behind(h, score, pack(MEMBER, rank, mark))
    return
  end
  local at = #line
  while at > 0 do
    local other, other_rank = unpack_('<d>I6', line, at - STAND_SIZE + 1)
    if other > score or other == score and other_rank > rank then break end
    at = at - STAND_SIZE
  end
  if at == #line then
    line = pack(LINE_AND_STAND, line, score, rank, mark)
  else
    line = sub(line, 1, at) .. pack(STAND, score, rank, mark) .. sub(line, at + 1)
  end
  if #line > ROOM then
    stand_behind(h, unpack_('<d', line, ROOM + 1), sub(line, ROOM + 9))
    line = sub(line, 1, ROOM)
  end
  h.line = line
  if at == 0 then
    h.score, h.top, h.change = score, rank, MOVE
  else
    save(h)
  end
end

-- Put a host where it belongs after a change; what comes of it is written down for many hosts at once.
local function file(h)
  if is_vacant(h) then look(h) end
  local rank, due, was, name = 0, -INF, -INF, h.name
  -- Most hosts that are filed are new.
  local at = c.crashed + c.delay
  if h.own or h.times then
    wake(h)
    at, was = ready_at(h), h.due
  end
  if h.top > 0 and h.leased < PARALLEL and h.pages + h.leased < HOST_PAGES then
    if at <= now then
      rank = h.top
    elseif at < INF then
      due = at
    end
  end
  if h.filed > 0 and h.filed ~= rank then ready_gone[#ready_gone + 1] = pack('>I6c0', h.filed, name) end
  if rank > 0 and (h.filed ~= rank or h.change == MOVE) then
    local count = #ready_come
    ready_come[count + 1], ready_come[count + 2] = h.score, pack('>I6c0', rank, name)
  end
  if due ~= was then
    wake(h).due = due
    if due == -INF then
      wait_gone[#wait_gone + 1] = name
    else
      local count = #wait_come
      wait_come[count + 1], wait_come[count + 2] = due, name
    end
  end
  h.filed, h.change = rank, SAVE
end

-- Before anybody looks, and before any of the hosts is filed again.
local function write_files()
  all('ZREM', READY, ready_gone)
  all('ZADD', READY, ready_come)
  all('ZREM', WAIT, wait_gone)
  all('ZADD', WAIT, wait_come)
  ready_come, ready_gone, wait_come, wait_gone = {}, {}, {}, {}
end

-- Links that are done or dropped: a code each, in buckets that are split one after the other as they fill.

local function bucket(mark)
  local number = unpack_('>I4', mark)
  local found = number % (2 * level)
  if found >= c.buckets then found = number % level end
  return base .. ':known:' .. found
end

local function split()
  local new, moved, gone = c.buckets, {}, {}
  local from = base .. ':known:' .. (new - level)
  local all = call('HGETALL', from)
  for i = 1, #all, 2 do
    if unpack_('>I4', all[i]) % (2 * level) == new then
      moved[#moved + 1], moved[#moved + 2] = all[i], all[i + 1]
      gone[#gone + 1] = all[i]
    end
  end
  if gone[1] then
    call('HSET', base .. ':known:' .. new, unpack(moved))
    call('HDEL', from, unpack(gone))
  end
  c.buckets = new + 1
  level = round()
end

-- Most hosts have nothing that is closed, or little: a bit for each mark saves most of the looks.
local function may_be_shut(h, mark)
  return band(h.shut, lshift(1, byte(mark, 9))) ~= 0
end

local function close(mark, code, h)
  if not may_be_shut(h, mark) then
    h.shut = bor(h.shut, lshift(1, byte(mark, 9)))
    save(h)
  end
  if call('HSET', bucket(mark), mark, code) == 1 then
    c.closed = c.closed + 1
    if c.closed > LOAD * c.buckets then split() end
  end
end

-- What is known of a link that does not wait and is not out.
local function closed(mark, h)
  return may_be_shut(h, mark) and call('HGET', bucket(mark), mark)
end

local function open(mark)
  c.closed = c.closed - call('HDEL', bucket(mark), mark)
end

local function code(reason, kind)
  if codes[reason] then return codes[reason] * 3 + kind end
  local number = call('HGET', REASONS, reason)
  if not number then
    number = call('HLEN', REASONS)
    -- Most reasons are few; those that name an address are not.
    if number >= 1000 or sub(reason, 1, 6) == 'moved ' then return kind .. reason end
    call('HSET', REASONS, reason, number)
  end
  codes[reason] = number
  return number * 3 + kind
end

local function kind_of(code)
  local number = tonumber(code)
  if number then return number % 3 end
  if sub(code, 1, 1) == 'D' then return DROPPED end
  if sub(code, 1, 1) == 'A' then return AWAY end
  return tonumber(sub(code, 1, 1))
end

-- Links that wait or are out

local function read(mark, stored)
  local link = false
  if stored then
    local score, first, number, out, attempts, depth, length = unpack_(LINK, stored)
    link = {
      mark = mark, score = score, first = first, number = number, out = out, attempts = attempts, depth = depth,
      text = sub(stored, LINK_SIZE + 1, LINK_SIZE + length), place = sub(stored, LINK_SIZE + length + 1) }
  end
  links[mark] = link
  return link
end

local function link_of(mark)
  local link = links[mark]
  if link == nil then return read(mark, call('HGET', LINKS, mark)) end
  -- What came in during this run is packed already, and is seldom asked for again.
  if type(link) == 'string' then return read(mark, link) end
  return link
end

local function packed(link)
  return pack(LINK, link.score, link.first, link.number, link.out, link.attempts, link.depth, #link.text)
    .. link.text .. link.place
end

local function rank_of(link)
  return LAST_RANK - link.number
end

local function store(link)
  links[link.mark], changed_links[link.mark] = link, true
end

local function store_packed(mark, text)
  links[mark] = text
  kept[kept_count + 1], kept[kept_count + 2] = mark, text
  kept_count = kept_count + 2
end

-- A link waits no longer.
local function step_out(link, h)
  local rank = rank_of(link)
  local at = place_of(h, rank, link.mark)
  if at == 1 then
    advance(h)
  elseif at then
    h.line = sub(h.line, 1, at - 1) .. sub(h.line, at + STAND_SIZE)
    save(h)
  else
    line_written(h)
    call('ZREM', queue_of(h), pack(MEMBER, rank, link.mark))
  end
end

-- A link that waits has another score.
local function move(link, h)
  local rank = rank_of(link)
  if h.top == rank and link.score >= h.score then
    set_line(h, pack(STAND, link.score, rank, link.mark) .. sub(h.line, STAND_SIZE + 1))
  elseif is_behind(h, link.score, rank) and not place_of(h, rank, link.mark) then
    stand_behind(h, link.score, pack(MEMBER, rank, link.mark))
  else
    step_out(link, h)
    line_up(link.mark, link.score, rank, h)
  end
end

local function forget(mark)
  links[mark], changed_links[mark] = false, true
end

local function drop(mark, code_, h)
  forget(mark)
  close(mark, code_, h)
  c.waiting, c.dropped = c.waiting - 1, c.dropped + 1
end

local function drop_host(h)
  local budget = code('host_budget', DROPPED)
  retreat(h)
  if not h.more then return end
  for _, each in ipairs(call('ZRANGE', queue_of(h), 0, -1)) do
    drop(sub(each, 7), budget, h)
  end
  call('DEL', queue_of(h))
end

-- The worst go, and make room for many. What remains of them is the score to beat.
local function sweep()
  local surplus = c.waiting - floor(c.capacity * 0.9)
  local worst = {}
  for _, name in ipairs(call('HKEYS', HOSTS)) do host(name) end
  for _, h in pairs(seen) do retreat(h) end
  for name in pairs(seen) do
    local found = call('ZRANGE', base .. ':queue:' .. name, 0, surplus - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      worst[#worst + 1] = { tonumber(found[i + 1]), found[i], name }
    end
  end
  sort(worst, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  for i = 1, surplus do
    local score, each, name = worst[i][1], worst[i][2], worst[i][3]
    call('ZREM', base .. ':queue:' .. name, each)
    drop(sub(each, 7), 'D' .. pack('<d', score), seen[name])
  end
end

-- Leases

local function come_back(token, count)
  local out = call('HGET', LEASES, token)
  local mark, h = sub(out, 1, 9), host(sub(out, 12, 11 + unpack_('<I2', out, 10)))
  call('HDEL', LEASES, token)
  call('ZREM', ENDS, token)
  h.leased = h.leased - 1
  touch(h)
  c.leased = c.leased - 1
  local link = link_of(mark)
  c.waiting = c.waiting + 1
  if not count then
    link.attempts = link.attempts - 1
  elseif link.attempts >= c.attempts then
    drop(mark, code('set_aside', DROPPED), h)
    return h
  end
  link.out = 0
  store(link)
  line_up(mark, link.score, rank_of(link), h)
  return h
end

local function lease_of(token, mark)
  local out = call('HGET', LEASES, token)
  if not out or sub(out, 1, 9) ~= mark then return nil end
  local length = unpack_('<I2', sub(out, 10, 11))
  return host(sub(out, 12, 11 + length)), out
end

local function flush()
  local hosts, gone, count = {}, {}, 0
  for name, h in pairs(seen) do
    if h.change >= FILE then file(h) end
    if h.added then line_written(h) end
    if h.change > 0 then
      hosts[count + 1], hosts[count + 2] = name, host_packed(h)
      count = count + 2
    end
  end
  for mark in pairs(changed_links) do
    local link = links[mark]
    if link then
      store_packed(mark, type(link) == 'string' and link or packed(link))
    else
      gone[#gone + 1] = mark
    end
  end
  local pace = {}
  for name, at in pairs(told) do pace[#pace + 1], pace[#pace + 2] = at, name end
  all('ZADD', c.pace, pace)
  all('HDEL', WANTED, unwanted)
  write_files()
  all('HSET', HOSTS, hosts)
  all('HSET', LINKS, kept)
  all('HDEL', LINKS, gone)
  dirty = dirty or hosts[1] or kept[1] or gone[1]
  local changed = {}
  for i = 2, CHANGED do
    local name = NAMES[i]
    if c[name] ~= before[name] then
      changed[#changed + 1], changed[#changed + 2] = name, c[name]
      -- That time has passed is not worth a line in the log of the server.
      dirty = dirty or (name ~= 'outer' and name ~= 'inner')
    end
  end
  if dirty and changed[1] then call('HSET', C, unpack(changed)) end
end

-- Offers

local function put_in(mark, h, score, rest)
  local number = c.next + 1
  c.next, c.waiting = number, c.waiting + 1
  store_packed(mark, pack('<ddI6BI2c0', score, score, number, 0, 0, rest))
  line_up(mark, score, LAST_RANK - number, h)
end

local function take(link, h, score, replace, rest)
  local better = score > link.score
  if link.out == 1 or not (better or replace == 1) then return end
  local depth, length = unpack_('<I2I2', rest)
  link.score, link.place = score, sub(rest, 5 + length)
  if better then
    link.text, link.depth = sub(rest, 5, 4 + length), min(link.depth, depth)
  end
  store(link)
  move(link, h)
end

local function comes_back(mark, h, old, score, reopen)
  local kind = kind_of(old)
  if reopen and (kind == SETTLED or kind == COMPLETED) then
    if is_spent(h, kind) then return false end
    touch(h).pages = h.pages - kind
    c.done = c.done - 1
    return true
  end
  if is_spent(h) then return false end
  local is_away = kind == AWAY
  if not is_away and sub(old, 1, 1) ~= 'D' or score <= unpack_('<d', sub(old, 2)) then return false end
  if is_away then c.away = c.away - 1 else c.dropped = c.dropped - 1 end
  return true
end

-- Read what is stored of many links at once, if it is not known yet.
local function read_links(marks)
  for i = 1, #marks, 1000 do
    local last = min(i + 999, #marks)
    for n, stored in ipairs(call('HMGET', LINKS, unpack(marks, i, last))) do
      local mark = marks[i + n - 1]
      if links[mark] == nil then read(mark, stored) end
    end
  end
end

-- So many offers in a text, from there on (nothing: all of them). Returns where they end, too.
local function offered(blob, at, most)
  local offers, count, size = {}, 0, #blob
  local last = most and 5 * most or INF
  while count < last and at <= size do
    offers[count + 1], offers[count + 2], offers[count + 3], offers[count + 4], offers[count + 5], at =
      unpack_(OFFER, blob, at)
    count = count + 5
  end
  return offers, at
end

-- Append their hosts to those of others.
local function hosts_of(offers, names)
  local count = #names
  for i = 4, #offers, 5 do
    count = count + 1
    names[count] = offers[i]
  end
  return names
end

-- Which of them may wait or be out; of most hosts all that wait are at hand. From here on hosts stand for their names.
local function may_be_there(offers, marks)
  local count = #marks
  for i = 1, #offers, 5 do
    local mark, h = offers[i], seen[offers[i + 3]]
    offers[i + 3] = h
    if h.more or h.leased > 0 or h.line ~= '' and find(h.line, mark, 1, true) then
      count = count + 1
      marks[count] = mark
    end
  end
end

-- Hosts were read, and what may be there of the links.
local function absorb(offers, reopen)
  local new = 0
  for i = 1, #offers, 5 do
    local mark, score, h = offers[i], offers[i + 1], offers[i + 3]
    local link = links[mark]
    if link then
      if not is_spent(h) then take(link_of(mark), h, score, offers[i + 2], offers[i + 4]) end
    else
      local old = h.shut ~= 0 and closed(mark, h)
      local welcome = h.pages < HOST_PAGES
      if old then
        welcome = comes_back(mark, h, old, score, reopen)
        if welcome then open(mark) end
      elseif welcome then
        new = new + 1
      end
      if welcome then put_in(mark, h, score, offers[i + 4]) end
    end
  end
  if c.capacity > 0 and c.waiting > c.capacity then sweep() end
  return new
end

local function absorb_all(blob, reopen)
  local marks, offers = {}, offered(blob, 1)
  read_hosts(hosts_of(offers, {}))
  may_be_there(offers, marks)
  read_links(marks)
  return absorb(offers, reopen)
end

-- The best link of a host goes out.
local function hand_out(h)
  local mark, score = sub(h.line, 15, STAND_SIZE), h.score
  advance(h)
  if is_vacant(h) then look(h) end
  -- Tokens follow the clock, so that none is given a second time when the server has lost the end of its log.
  c.token = max(c.token + 1, floor(now * 1e6))
  h.last, h.leased = now, h.leased + 1
  c.waiting, c.leased = c.waiting - 1, c.leased + 1
  if c.pace ~= '' then
    tell_out(h)
    unwanted[#unwanted + 1] = h.name
  end
  return { mark = mark, host = h.name, token = c.token, score = score }
end

-- Write down what was handed out → for each the lengths of token, host and link, then these
local function handed_out(out)
  local marks, leases, ends, answer = {}, {}, {}, {}
  for i, lease in ipairs(out) do marks[i] = lease.mark end
  local stored = out[1] and call('HMGET', LINKS, unpack(marks))
  for i, lease in ipairs(out) do
    local mark, name, token = lease.mark, lease.host, precise(lease.token)
    local link = stored[i]
    -- What came back in this very run is not written yet.
    if changed_links[mark] then link = packed(link_of(mark)) end
    link = sub(link, 1, 22) .. pack('<BI2', 1, unpack_('<I2', link, 24) + 1) .. sub(link, 26)
    store_packed(mark, link)
    leases[2 * i - 1], leases[2 * i] = token, mark .. pack('<I2', #name) .. name .. worker
    ends[2 * i - 1], ends[2 * i] = now + c.lease, token
    answer[i] = pack('<BI2I4', #token, #name, #link) .. token .. name .. link
  end
  all('HSET', LEASES, leases)
  all('ZADD', ENDS, ends)
  return concat(answer)
end

local function promote()
  local due = call('ZRANGE', WAIT, '-inf', now, 'BYSCORE')
  if not due[1] then return end
  read_hosts(due)
  for _, name in ipairs(due) do file(seen[name]) end
  write_files()
  dirty = true
end

-- What can be asked for

local run = {}

function run.add()
  return absorb_all(ARGV[6], false)
end

function run.reopen()
  return absorb_all(ARGV[6], true)
end

-- The scores of the last links that were leased, by any worker, as bytes

local function note_leases(out)
  local scores = { c.lately or '' }
  for i, lease in ipairs(out) do scores[i + 1] = pack('<d', lease.score) end
  c.lately = sub(concat(scores), -8 * LATELY)
end

-- What is worth less gets a few hands only.
local function least_worth(focus)
  local best = 0
  for i = 1, focus > 0 and #(c.lately or '') or 0, 8 do best = max(best, (unpack_('<d', c.lately, i))) end
  return best > 0 and focus * best or -INF
end

local function forget_lease(score)
  local bytes, lately = pack('<d', score), c.lately or ''
  for i = 1, #lately, 8 do
    if sub(lately, i, i + 7) == bytes then
      c.lately = sub(lately, 1, i - 1) .. sub(lately, i + 8)
      return
    end
  end
end

local function is_ready(h)
  return h.top > 0 and h.leased < PARALLEL and h.pages + h.leased < HOST_PAGES and ready_at(h) <= now
end

-- Of hosts that are still ready after one of their links went out, where the one with the best link stands.
local function best_of(hosts)
  local found
  for i, h in ipairs(hosts) do
    local other = hosts[found]
    if not other or precedes(h.score, h.top, other.score, other.top) then found = i end
  end
  return found
end

-- Hand out up to so many of the best links, none below `least`. Returns whether there may be more.
local function best_out(count, least, out)
  local tops = call('ZRANGE', READY, -count, -1, 'WITHSCORES')
  local names, again, at, skipped = {}, {}, #tops - 1, false
  for i = 1, #tops, 2 do names[#names + 1] = sub(tops[i], 7) end
  read_hosts(names)
  if c.pace ~= '' and names[1] then
    for i, said in ipairs(call('ZMSCORE', c.pace, unpack(names))) do paces[names[i]] = said end
  end
  while count > 0 do
    local i, h, score = best_of(again), nil, tonumber(tops[at + 1] or '-inf')
    local other = again[i]
    if other and (at < 1 or precedes(other.score, other.top, score, (unpack_('>I6', tops[at])))) then
      h, score = other, other.score
      remove(again, i)
    elseif at < 1 then
      return skipped
    else
      h = wake(seen[sub(tops[at], 7)])
      at = at - 2
    end
    if score < least then return false end
    -- After a restart of the server a host may have to wait that was ready before.
    if ready_at(h) <= now and not is_taken(h) then
      out[#out + 1] = hand_out(h)
      if is_ready(h) then again[#again + 1] = h end
      count = count - 1
    else
      skipped = true
      touch(h)
    end
  end
  return false
end

local function file_touched()
  for _, h in pairs(seen) do
    if h.change >= FILE then file(h) end
  end
  write_files()
end

-- count, focus, how many may be out in all where none is worth it → token, host, link, …
function run.lease()
  local count, least, out = tonumber(ARGV[6]), least_worth(tonumber(ARGV[7])), {}
  if c.paused == 1 then return out end
  if c.pages > 0 then count = min(count, c.pages - c.kept - c.leased) end
  promote()
  if c.pace ~= '' then call('ZREMRANGEBYSCORE', c.pace, '-inf', time) end
  -- What overdue leases gave back, and what cannot be asked after all, is filed before anything is chosen.
  local more = count > 0
  while more do
    file_touched()
    more = best_out(count - #out, least, out)
  end
  local few = min(count, tonumber(ARGV[8]) - c.leased)
  more = least > -INF and not out[1] and few > 0
  while more do
    file_touched()
    more = best_out(few - #out, -INF, out)
  end
  if out[1] then
    note_leases(out)
    dirty = true
  end
  return handed_out(out)
end

-- for each: token, mark, wait, unused, reason, offers → a digit each, 1 or 0; pages kept in all
function run.complete()
  local blob, at, count, named = ARGV[6], 1, 0, 0
  local tokens, marks, waits, unused, reasons, offers = {}, {}, {}, {}, {}, {}
  local names, gone, maybe, answers = {}, {}, {}, {}
  while at <= #blob do
    count = count + 1
    tokens[count], marks[count], waits[count], unused[count], reasons[count], named, at = unpack_(END, blob, at)
    offers[count], at = offered(blob, at, named)
  end
  local leases = call('HMGET', LEASES, unpack(tokens))
  for i, out in ipairs(leases) do
    leases[i] = false
    if out and sub(out, 1, 9) == marks[i] then
      leases[i] = sub(out, 12, 11 + unpack_('<I2', out, 10))
      gone[#gone + 1], names[#names + 1] = tokens[i], leases[i]
    end
  end
  if c.pace ~= '' and names[1] then
    for i, want in ipairs(call('HMGET', WANTED, unpack(names))) do wants[names[i]] = want end
  end
  for i = 1, count do
    if leases[i] then hosts_of(offers[i], names) end
  end
  read_hosts(names)
  for i = 1, count do
    if leases[i] then may_be_there(offers[i], maybe) end
  end
  read_links(maybe)
  all('HDEL', LEASES, gone)
  all('ZREM', ENDS, gone)
  for i, name in ipairs(leases) do
    if name then
      local h, mark, reason = touch(wake(seen[name])), marks[i], reasons[i]
      h.leased, h.pages = h.leased - 1, h.pages + 1
      if unused[i] == 1 then h.last = h.last - delay_of(h) end
      postpone(h, waits[i])
      forget(mark)
      close(mark, code(reason, COMPLETED), h)
      c.leased, c.done = c.leased - 1, c.done + 1
      if reason == 'fetched' then c.kept = c.kept + 1 end
      tell_free(h)
      if is_spent(h) then drop_host(h) end
      absorb(offers[i], false)
    else
      c.refused = (c.refused or 0) + 1
    end
    answers[i] = name and '1' or '0'
  end
  return { concat(answers), c.kept }
end

-- token, mark, wait, count, unused → 1 or 0
function run.give_back()
  local h = lease_of(ARGV[6], ARGV[7])
  if not h then
    c.refused = (c.refused or 0) + 1
    return 0
  end
  if ARGV[10] == '1' then
    h.last = h.last - delay_of(h)
    forget_lease(link_of(ARGV[7]).score)
  end
  postpone(h, tonumber(ARGV[8]))
  come_back(ARGV[6], ARGV[9] == '1')
  tell_free(h)
  return 1
end

-- all that this worker has out
function run.leave()
  local all = call('HGETALL', LEASES)
  for i = 1, #all, 2 do
    local out = all[i + 1]
    local length = unpack_('<I2', sub(out, 10, 11))
    if sub(out, 12 + length) == worker then
      local h = come_back(all[i], ARGV[6] == '1')
      -- It was killed, perhaps right after a request.
      if ARGV[6] == '1' then h.hold = max(h.hold, now + delay_of(h)) end
      tell_free(h)
    end
  end
  return 0
end

local function extend(at, answers)
  for i = at, #ARGV, 2 do
    local h = lease_of(ARGV[i], ARGV[i + 1])
    if h then
      call('ZADD', ENDS, now + c.lease, ARGV[i])
      tell_out(h)
    end
    answers[#answers + 1] = h and 1 or 0
  end
  return answers
end

-- token, mark → 1 or 0
function run.extend()
  return extend(6, {})
end

-- what the worker says of itself, then token and mark of each lease → paused?, pages kept, pages wanted, 1 or 0 each
function run.beat()
  call('HSET', base .. ':workers', worker, precise(now - c.offset) .. ' ' .. ARGV[6])
  return extend(7, { c.paused, c.kept, c.pages })
end

-- A turn at a host of which nothing is out, for one request: host → seconds to wait, 0 when it is granted
function run.claim()
  local h = touch(host(ARGV[6]))
  local at = ready_at(h)
  if h.leased >= PARALLEL then at = max(at, now + max(delay_of(h), 0.05)) end
  if at <= now and is_taken(h) then at = h.hold end
  if at > now then return precise(at - now) end
  h.hold = now + FRESH + delay_of(h)
  tell(h, h.hold)
  return '0'
end

-- reason, then mark and host of each
function run.settle()
  local reason = code(ARGV[6], SETTLED)
  for i = 7, #ARGV, 2 do
    local mark, h = ARGV[i], host(ARGV[i + 1])
    local link = link_of(mark)
    if link then
      if link.out == 0 then
        step_out(link, h)
        forget(mark)
        close(mark, reason, h)
        c.waiting, c.done = c.waiting - 1, c.done + 1
      end
    else
      local old = closed(mark, h)
      local kind = old and kind_of(old)
      if not old or kind == DROPPED or kind == AWAY then
        if kind == DROPPED then c.dropped = c.dropped - 1 end
        if kind == AWAY then c.away = c.away - 1 end
        close(mark, reason, h)
        c.done = c.done + 1
      end
    end
  end
  return 0
end

-- mark, host, score, … → how many waited
function run.rescore()
  local count = 0
  for i = 6, #ARGV, 3 do
    local link = link_of(ARGV[i])
    if link and link.out == 0 then
      link.score = unpack_('<d', ARGV[i + 2])
      store(link)
      move(link, host(ARGV[i + 1]))
      count = count + 1
    end
  end
  return count
end

-- A queue that is too long: its worst links are put away, and come back when there is room.

-- pack, the best score in it, then mark and host of each → how many were put away
function run.put_away()
  local count = 0
  for i = 8, #ARGV, 2 do
    local mark = ARGV[i]
    local link = link_of(mark)
    -- Meanwhile it may have been leased; then its copy in the pack is of no use, and does no harm.
    if link and link.out == 0 then
      local h = host(ARGV[i + 1])
      step_out(link, h)
      forget(mark)
      close(mark, 'A' .. pack('<d', link.score), h)
      count = count + 1
    end
  end
  if count > 0 then
    c.next = c.next + 1
    call('HSET', ATTIC, c.next, ARGV[6])
    call('ZADD', PACKS, ARGV[7], c.next)
    c.waiting, c.away = c.waiting - count, (c.away or 0) + count
  end
  return count
end

-- number of a pack, then mark, host and link of each → how many came back
function run.take_back()
  local count = 0
  -- Another worker may have been faster.
  if call('ZREM', PACKS, ARGV[6]) == 0 then return 0 end
  call('HDEL', ATTIC, ARGV[6])
  for i = 7, #ARGV, 3 do
    local mark, h = ARGV[i], host(ARGV[i + 1])
    local old = closed(mark, h)
    if old and kind_of(old) == AWAY then
      c.away = c.away - 1
      if is_spent(h) then
        close(mark, code('host_budget', DROPPED), h)
        c.dropped = c.dropped + 1
      else
        open(mark)
        local link = read(mark, ARGV[i + 2])
        link.score = unpack_('<d', sub(old, 2))
        store(link)
        line_up(mark, link.score, rank_of(link), h)
        c.waiting, count = c.waiting + 1, count + 1
      end
    end
  end
  return count
end

function run.set_delay()
  local h = touch(host(ARGV[6]))
  h.own = tonumber(ARGV[7])
  return 0
end

-- host, seconds from now
function run.block()
  touch(host(ARGV[6])).blocked = now + tonumber(ARGV[7])
  return 0
end

-- → seconds until a host may be asked, or nothing; and the same for what is out
function run.next_ready()
  promote()
  file_touched()
  local soon, out = INF, INF
  if call('ZCARD', READY) > 0 then
    soon = now
  else
    local first = call('ZRANGE', WAIT, 0, 0, 'WITHSCORES')
    if first[1] then soon = tonumber(first[2]) end
  end
  local at = 0
  while true do
    local lease = call('ZRANGE', ENDS, at, at, 'WITHSCORES')
    if not lease[1] or tonumber(lease[2]) >= out then break end
    local length
    local stored = call('HGET', LEASES, lease[1])
    length = unpack_('<I2', sub(stored, 10, 11))
    out = min(out, max(tonumber(lease[2]), ready_at(host(sub(stored, 12, 11 + length)))))
    at = at + 1
  end
  -- What was put away comes back when a worker has seen that there is room.
  if soon == INF and out == INF and call('ZCARD', PACKS) > 0 then soon = now end
  return { precise(soon - now), precise(out - now) }
end

-- Nobody waits for a worker that does not answer: what is overdue goes back before anything else is done.
local function take_back_overdue()
  for _, token in ipairs(call('ZRANGE', ENDS, '-inf', now, 'BYSCORE')) do
    local ended = tonumber(call('ZSCORE', ENDS, token))
    local h = come_back(token, true)
    -- A request may have left as late as is allowed.
    h.hold = max(h.hold, ended - LATE * c.lease + delay_of(h))
    dirty = true
  end
end

redis.register_function('topicrawl_frontier', function(keys, argv)
  if not begin(keys, argv) then return redis.error_reply('WIPED') end
  look_at_the_clock()
  take_back_overdue()
  local answer = run[ARGV[5]]()
  flush()
  -- What was read is not kept until the next run, which begins with what the keys hold.
  seen, links, changed_links, kept, told = nil, nil, nil, nil, nil
  return answer
end)
