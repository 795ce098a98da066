#!lua
-- The shared frontier: every operation is one run of this script, so it happens wholly or not at all. The first line
-- lets a server that is full refuse it before it has begun.
--
-- KEYS[1]  where the crawl's keys begin; all of them carry one hash tag
-- ARGV     epoch, life of the server, time (empty: the server's own), worker, operation, what it needs
--
-- :c           hash   facts, counters and the clock of the crawl
-- :known:<n>   hash   fingerprint → code of a link that is done, dropped or put away; small, so that Redis packs it
-- :links       hash   fingerprint → a link that waits or is out
-- :hosts       hash   host → what politeness knows of it, and the best of its links that wait: most hosts have no other
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

local base = KEYS[1]
local C, LINKS, HOSTS, READY, WAIT = base .. ':c', base .. ':links', base .. ':hosts', base .. ':ready', base .. ':wait'
local LEASES, ENDS, REASONS = base .. ':leases', base .. ':ends', base .. ':reasons'
local ATTIC, PACKS = base .. ':attic', base .. ':packs'
local call, sub, pack, unpack_ = redis.call, string.sub, struct.pack, struct.unpack
local max, min, floor, INF = math.max, math.min, math.floor, math.huge
local LAST_RANK, NONE, NO_MARK = 2 ^ 48 - 1, string.rep('\0', 6), string.rep('\0', 9)
local LINK, LINK_SIZE = '<ddI6BI2I2I2', 29 -- score, first score, number, out?, attempts, depth, length of the text
-- own delay, last, hold, wait, blocked, due, pages, leased; rank in READY; rank, score and fingerprint of its best link
local HOST = '<ddddddI4I4c6c6dc9'
-- fingerprint, score, whether it replaces, host; depth, length of the text, text and rest of the place as they are stored
local OFFER = '<c9dBHc0I4c0'
local LOAD = 200 -- known links in a bucket on average; the fullest stay below the 512 that Redis packs
local SETTLED, COMPLETED, DROPPED, AWAY = 0, 1, 2, 3
local LATE = 0.2 -- of a lease: nobody starts a request in this last part of it
local FRESH = 4 -- seconds after which a worker asks no host any more by what it was told before
local LATELY = 32 -- leases by whose scores it is judged what is worth fetching
local TURN = 0.25 -- seconds in which a worker of another crawl notices that its turn has come
local AHEAD = 3600 -- seconds for which another crawl may hold a host

local NAMES = {
  'epoch', 'life', 'outer', 'offset', 'inner', 'crashed', 'next', 'token', 'buckets', 'closed', 'waiting', 'leased',
  'done', 'dropped', 'hosts', 'kept', 'delay', 'parallel', 'host_pages', 'lease', 'attempts', 'capacity', 'pages',
  'paused', 'pace', 'refused', 'away', 'lately' }
local c, before = {}, {}
for i, value in ipairs(call('HMGET', C, unpack(NAMES))) do
  c[NAMES[i]] = NAMES[i] ~= 'lately' and tonumber(value) or value
  before[NAMES[i]] = c[NAMES[i]]
end
if not c.epoch or tostring(c.epoch) ~= ARGV[1] then
  return redis.error_reply('WIPED')
end
local PARALLEL = c.parallel > 0 and c.parallel or INF
local WANTED = c.pace .. ':wanted' -- host → when another crawl has asked for it in vain, and which one
local HOST_PAGES = c.host_pages > 0 and c.host_pages or INF
local worker, dirty = ARGV[4], ARGV[3] ~= ''

local function precise(number)
  return string.format('%.17g', number)
end

-- Time: forward only, also when the clock is set back.

local time = tonumber(ARGV[3])
if not time then
  local now = call('TIME')
  time = now[1] + now[2] / 1e6
end
if time < c.outer then
  c.offset = c.offset + c.outer - time
  dirty = true
end
c.outer = time
local now = max(c.inner, time + c.offset)
c.inner = now
if c.life ~= ARGV[2] then
  -- Another life of the server: the end of its log may be gone, and with it leases whose requests are yet to leave.
  if c.life ~= '' then c.crashed = now + min(FRESH, (1 - LATE) * c.lease) end
  c.life, dirty = ARGV[2], true
end

-- Hosts

local seen = {}

local function host(name, stored)
  local h = seen[name]
  if h then return h end
  if stored == nil then stored = call('HGET', HOSTS, name) end
  h = { name = name }
  if stored then
    h.own, h.last, h.hold, h.wait, h.blocked, h.due, h.pages, h.leased, h.filed, h.top, h.score, h.best =
      unpack_(HOST, stored)
  else
    h.own, h.last, h.hold, h.wait, h.blocked, h.due, h.pages, h.leased = 0, -INF, -INF, 0, -INF, -INF, 0, 0
    h.filed, h.top, h.score, h.best, h.touched = NONE, NONE, -INF, NO_MARK, true
    h.is_new = true -- so nothing is known of its links either
    c.hosts = c.hosts + 1
  end
  h.delay = max(c.delay, h.own)
  h.last = max(h.last, c.crashed)
  seen[name] = h
  return h
end

local function queue_of(h)
  return base .. ':queue:' .. h.name
end

local function touch(h)
  h.touched = true
  return h
end

local function ready_at(h)
  return max(h.last + h.delay, h.hold, h.blocked)
end

-- Other crawls on this server are told until when a host is taken.
local told, unwanted = {}, {}

local function tell(h, at)
  if c.pace ~= '' then told[h.name] = at - c.offset end
end

-- For as long as it is out; should the worker die, others wait from the last moment at which it may have asked.
local function tell_out(h)
  tell(h, now + max(c.lease, (1 - LATE) * c.lease + h.delay))
end

-- A host is free again after its delay, and if another crawl has asked for it meanwhile, that one goes first.
local function tell_free(h)
  if c.pace == '' then return end
  tell(h, max(h.last + h.delay, h.hold))
  local want = call('HGET', WANTED, h.name)
  local at, who = string.match(want or '', '^(%S+) (.*)$')
  -- It asks again once in a delay; whoever does not has lost interest.
  if at and who ~= base and time - at < 2 * h.delay + 2 then
    h.hold = max(h.hold, h.last + 2 * h.delay, now + h.delay) + TURN
  end
end

-- Whether another crawl has the host at the moment; then it is looked at again a little later.
local function is_taken(h)
  if c.pace == '' then return false end
  local until_ = told[h.name] or tonumber(call('ZSCORE', c.pace, h.name) or '-inf')
  -- What lies further ahead was written before the clock was set back.
  if until_ <= time or until_ > time + max(AHEAD, 2 * c.lease) then return false end
  call('HSET', WANTED, h.name, precise(time) .. ' ' .. base)
  h.hold = max(h.hold, now + min(until_ - time, max(h.delay, 0.05)))
  return true
end

local function is_spent(h, credit)
  return h.pages - (credit or 0) >= HOST_PAGES
end

local function postpone(h, wait)
  if wait > 0 and now + wait > h.hold then
    h.hold, h.wait = now + wait, wait
  end
end

-- One command for many values.
local function all(command, key, values)
  for i = 1, #values, 1000 do
    call(command, key, unpack(values, i, min(i + 999, #values)))
  end
end

-- Links that stand behind the best one. They are written together, at the end or before anybody looks at the queue.
local function stand_behind(h, score, member)
  local added = h.added
  if not added then
    added = {}
    h.added = added
  end
  local count = #added
  added[count + 1], added[count + 2] = score, member
end

local function line_written(h)
  if h.added then
    all('ZADD', queue_of(h), h.added)
    h.added = nil
  end
end

-- The best link of a host has gone, or may not be the best any more: whichever is the best is found in the queue.
local function vacate(h, gone)
  if h.top ~= NONE and not gone then stand_behind(h, h.score, h.top .. h.best) end
  h.top, h.score, h.best, h.vacant, h.touched = NONE, -INF, NO_MARK, true, true
end

-- What is taken away is named, so that reading the log again takes the same away.
local function look(h)
  line_written(h)
  local top = call('ZRANGE', queue_of(h), -1, -1, 'WITHSCORES')
  if top[1] then
    call('ZREM', queue_of(h), top[1])
    h.top, h.score, h.best = sub(top[1], 1, 6), tonumber(top[2]), sub(top[1], 7)
  end
  h.vacant, h.moved = false, true
end

local function precedes(score, rank, other_score, other_rank)
  if score ~= other_score then return score > other_score end
  -- As numbers: how texts compare depends on the language of the server.
  return unpack_('>I6', rank) > unpack_('>I6', other_rank)
end

-- Put a host where it belongs after a change; it is written down at the end. Where many are filed, what comes to READY
-- and what leaves it is collected.
local function file(h, come, gone)
  if h.vacant then look(h) end
  local rank, due = NONE, -INF
  if h.top ~= NONE and h.leased < PARALLEL and h.pages + h.leased < HOST_PAGES then
    local at = ready_at(h)
    if at <= now then
      rank = h.top
    elseif at < INF then
      due = at
    end
  end
  if h.filed ~= NONE and h.filed ~= rank then
    if gone then gone[#gone + 1] = h.filed .. h.name else call('ZREM', READY, h.filed .. h.name) end
  end
  if rank ~= NONE and (h.filed ~= rank or h.moved) then
    if come then
      come[#come + 1], come[#come + 2] = h.score, rank .. h.name
    else
      call('ZADD', READY, h.score, rank .. h.name)
    end
  end
  if due == -INF and h.due ~= -INF then
    call('ZREM', WAIT, h.name)
  elseif due ~= h.due then
    call('ZADD', WAIT, due, h.name)
  end
  h.filed, h.due, h.touched, h.moved, h.unsaved = rank, due, false, false, true
end

-- Links that are done or dropped: a code each, in buckets that are split one after the other as they fill.

local function round()
  local size = 1
  while size * 2 <= c.buckets do size = size * 2 end
  return size
end

local level = round()

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

local function close(mark, code)
  if call('HSET', bucket(mark), mark, code) == 1 then
    c.closed = c.closed + 1
    if c.closed > LOAD * c.buckets then split() end
  end
end

local function open(mark)
  c.closed = c.closed - call('HDEL', bucket(mark), mark)
end

local codes = {}

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

local links, changed_links = {}, {}

local function read(mark, stored)
  local link = false
  if stored then
    link = { mark = mark }
    local length
    link.score, link.first, link.number, link.out, link.attempts, link.depth, length = unpack_(LINK, stored)
    link.text = sub(stored, LINK_SIZE + 1, LINK_SIZE + length)
    link.place = sub(stored, LINK_SIZE + length + 1)
  end
  links[mark] = link
  return link
end

local function link_of(mark)
  local link = links[mark]
  if link == nil then return read(mark, call('HGET', LINKS, mark)) end
  -- What came in during this run is packed already, and is seldom asked for again.
  if link == true then return read(mark, changed_links[mark]) end
  return link
end

local function packed(link)
  return pack(LINK, link.score, link.first, link.number, link.out, link.attempts, link.depth, #link.text)
    .. link.text .. link.place
end

local function rank_of(link)
  return pack('>I6', LAST_RANK - link.number)
end

local function store(link)
  links[link.mark], changed_links[link.mark] = link, true
end

local function line_up(mark, score, rank, h)
  if h.vacant then
    stand_behind(h, score, rank .. mark)
  elseif h.top == NONE then
    h.top, h.score, h.best, h.moved, h.touched = rank, score, mark, true, true
  elseif precedes(score, rank, h.score, h.top) then
    stand_behind(h, h.score, h.top .. h.best)
    h.top, h.score, h.best, h.moved, h.touched = rank, score, mark, true, true
  else
    -- Nothing is stored of the host that would change by that.
    stand_behind(h, score, rank .. mark)
  end
end

-- A link that waits has another score.
local function move(link, h)
  local rank = rank_of(link)
  if not h.vacant then
    if h.top == rank and link.score >= h.score then
      h.score, h.moved, h.touched = link.score, true, true
      return
    elseif h.top == rank then
      vacate(h, true)
    elseif precedes(link.score, rank, h.score, h.top) then
      vacate(h)
    end
  end
  stand_behind(h, link.score, rank .. link.mark)
end

-- A link waits no longer.
local function step_out(link, h)
  local rank = rank_of(link)
  if not h.vacant and h.top == rank then
    vacate(h, true)
  else
    line_written(h)
    call('ZREM', queue_of(h), rank .. link.mark)
  end
end

local function forget(mark)
  links[mark], changed_links[mark] = false, true
end

local function drop(mark, code_)
  forget(mark)
  close(mark, code_)
  c.waiting, c.dropped = c.waiting - 1, c.dropped + 1
end

local function drop_host(h)
  local budget = code('host_budget', DROPPED)
  h.is_new = false
  vacate(h)
  line_written(h)
  for _, each in ipairs(call('ZRANGE', queue_of(h), 0, -1)) do
    drop(sub(each, 7), budget)
  end
  call('DEL', queue_of(h))
end

-- The worst go, and make room for many. What remains of them is the score to beat.
local function sweep()
  local surplus = c.waiting - floor(c.capacity * 0.9)
  local worst = {}
  for _, name in ipairs(call('HKEYS', HOSTS)) do host(name) end
  -- From here on links of any host may be known; and its best link must be seen as well.
  for _, h in pairs(seen) do
    h.is_new = false
    vacate(h)
    line_written(h)
  end
  for name in pairs(seen) do
    local found = call('ZRANGE', base .. ':queue:' .. name, 0, surplus - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      worst[#worst + 1] = { tonumber(found[i + 1]), found[i], name }
    end
  end
  table.sort(worst, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  for i = 1, surplus do
    local score, each, name = worst[i][1], worst[i][2], worst[i][3]
    call('ZREM', base .. ':queue:' .. name, each)
    drop(sub(each, 7), 'D' .. pack('<d', score))
  end
end

-- Leases

local function come_back(token, count)
  local out = call('HGET', LEASES, token)
  local mark, h = sub(out, 1, 9), nil
  local length = unpack_('<I2', sub(out, 10, 11))
  h = host(sub(out, 12, 11 + length))
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
    drop(mark, code('set_aside', DROPPED))
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
  local hosts, kept, gone, come, leave = {}, {}, {}, {}, {}
  for _, h in pairs(seen) do
    if h.touched then file(h, come, leave) end
    if h.added then line_written(h) end
    if h.unsaved then
      hosts[#hosts + 1] = h.name
      hosts[#hosts + 1] = pack(HOST, h.own, h.last, h.hold, h.wait, h.blocked, h.due, h.pages, h.leased, h.filed, h.top,
        h.score, h.best)
    end
  end
  local count = 0
  for mark, change in pairs(changed_links) do
    local link = links[mark]
    if link then
      kept[count + 1], kept[count + 2] = mark, link == true and change or packed(link)
      count = count + 2
    else
      gone[#gone + 1] = mark
    end
  end
  local pace = {}
  for name, at in pairs(told) do pace[#pace + 1], pace[#pace + 2] = at, name end
  all('ZADD', c.pace, pace)
  all('HDEL', WANTED, unwanted)
  all('ZREM', READY, leave)
  all('ZADD', READY, come)
  all('HSET', HOSTS, hosts)
  all('HSET', LINKS, kept)
  all('HDEL', LINKS, gone)
  dirty = dirty or hosts[1] or kept[1] or gone[1]
  local changed = {}
  for _, name in ipairs(NAMES) do
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
  links[mark], changed_links[mark] = true, pack('<ddI6BI2', score, score, number, 0, 0) .. rest
  line_up(mark, score, pack('>I6', LAST_RANK - number), h)
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

-- Read what is stored of many links and hosts at once, if it is not known yet.
local function prefetch(marks, names)
  for i = 1, #marks, 1000 do
    local last = min(i + 999, #marks)
    for n, stored in ipairs(call('HMGET', LINKS, unpack(marks, i, last))) do
      if links[marks[i + n - 1]] == nil then read(marks[i + n - 1], stored) end
    end
  end
  local missing = {}
  for _, name in ipairs(names) do
    if not seen[name] and not missing[name] then
      missing[#missing + 1], missing[name] = name, true
    end
  end
  for i = 1, #missing, 1000 do
    local last = min(i + 999, #missing)
    for n, stored in ipairs(call('HMGET', HOSTS, unpack(missing, i, last))) do host(missing[i + n - 1], stored) end
  end
end

-- The offers in a text; marks and hosts are appended to those of others.
local function offered(blob, marks, names)
  local offers, count, at, size = {}, 0, 1, #blob
  while at <= size do
    local mark, score, replace, name, rest
    mark, score, replace, name, rest, at = unpack_(OFFER, blob, at)
    offers[count + 1], offers[count + 2], offers[count + 3], offers[count + 4], offers[count + 5] =
      mark, score, replace, name, rest
    count = count + 5
    marks[#marks + 1] = mark
    names[#names + 1] = name
  end
  return offers
end

local function absorb(offers, reopen)
  local new = 0
  for i = 1, #offers, 5 do
    local mark, score, h = offers[i], offers[i + 1], host(offers[i + 3])
    local link = link_of(mark)
    if link then
      if not is_spent(h) then take(link, h, score, offers[i + 2], offers[i + 4]) end
    else
      local old = not h.is_new and call('HGET', bucket(mark), mark)
      local welcome
      if old then
        welcome = comes_back(mark, h, old, score, reopen)
        if welcome then open(mark) end
      else
        welcome = not is_spent(h)
        if welcome then new = new + 1 end
      end
      if welcome then put_in(mark, h, score, offers[i + 4]) end
    end
  end
  if c.capacity > 0 and c.waiting > c.capacity then sweep() end
  return new
end

local function absorb_all(blob, reopen)
  local marks, names = {}, {}
  local offers = offered(blob, marks, names)
  prefetch(marks, names)
  return absorb(offers, reopen)
end

-- The best link of a host goes out.
local function hand_out(h)
  local mark, score = h.best, h.score
  vacate(h, true)
  look(h)
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

-- Write down what was handed out → token, host, link, …
local function handed_out(out)
  local marks, leases, ends, answer = {}, {}, {}, {}
  for i, lease in ipairs(out) do marks[i] = lease.mark end
  prefetch(marks, {})
  for i, lease in ipairs(out) do
    local link, name, token = link_of(lease.mark), lease.host, precise(lease.token)
    link.attempts, link.out = link.attempts + 1, 1
    store(link)
    leases[2 * i - 1], leases[2 * i] = token, link.mark .. pack('<I2', #name) .. name .. worker
    ends[2 * i - 1], ends[2 * i] = now + c.lease, token
    answer[3 * i - 2], answer[3 * i - 1], answer[3 * i] = token, name, packed(link)
  end
  all('HSET', LEASES, leases)
  all('ZADD', ENDS, ends)
  return answer
end

local function promote()
  for _, name in ipairs(call('ZRANGE', WAIT, '-inf', now, 'BYSCORE')) do
    file(host(name))
    dirty = true
  end
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

local function note_lease(score)
  c.lately = sub((c.lately or '') .. pack('<d', score), -8 * LATELY)
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
  return h.top ~= NONE and h.leased < PARALLEL and h.pages + h.leased < HOST_PAGES and ready_at(h) <= now
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
  prefetch({}, names)
  while count > 0 do
    local i, h, score = best_of(again), nil, tonumber(tops[at + 1] or '-inf')
    local other = again[i]
    if other and (at < 1 or precedes(other.score, other.top, score, sub(tops[at], 1, 6))) then
      h, score = other, other.score
      table.remove(again, i)
    elseif at < 1 then
      return skipped
    else
      h = host(sub(tops[at], 7))
      at = at - 2
    end
    if score < least then return false end
    -- After a restart of the server a host may have to wait that was ready before.
    if ready_at(h) <= now and not is_taken(h) then
      local lease = hand_out(h)
      out[#out + 1] = lease
      note_lease(lease.score)
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
    if h.touched then file(h) end
  end
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
  dirty = dirty or out[1]
  return handed_out(out)
end

-- for each: token, mark, reason, wait, unused, offers → 1 or 0 each, then pages kept in all
function run.complete()
  local tokens, marks, names, offers, answers, gone = {}, {}, {}, {}, {}, {}
  for at = 6, #ARGV, 6 do
    tokens[#tokens + 1], marks[#marks + 1] = ARGV[at], ARGV[at + 1]
  end
  local leases = call('HMGET', LEASES, unpack(tokens))
  for i, out in ipairs(leases) do
    local mark = ARGV[6 * i + 1]
    if out and sub(out, 1, 9) == mark then
      names[#names + 1] = sub(out, 12, 11 + unpack_('<I2', sub(out, 10, 11)))
      leases[i] = names[#names]
      offers[i] = offered(ARGV[6 * i + 5], marks, names)
      gone[#gone + 1] = tokens[i]
    else
      leases[i] = false
    end
  end
  prefetch(marks, names)
  all('HDEL', LEASES, gone)
  all('ZREM', ENDS, gone)
  for i, name in ipairs(leases) do
    local at = 6 * i
    if name then
      local h, mark, reason = host(name), ARGV[at + 1], ARGV[at + 2]
      h.leased, h.pages = h.leased - 1, h.pages + 1
      if ARGV[at + 4] == '1' then h.last = h.last - h.delay end
      postpone(h, tonumber(ARGV[at + 3]))
      forget(mark)
      close(mark, code(reason, COMPLETED))
      c.leased, c.done = c.leased - 1, c.done + 1
      if reason == 'fetched' then c.kept = c.kept + 1 end
      tell_free(touch(h))
      if is_spent(h) then drop_host(h) end
      absorb(offers[i], false)
    else
      c.refused = (c.refused or 0) + 1
    end
    answers[i] = name and 1 or 0
  end
  answers[#answers + 1] = c.kept
  return answers
end

-- token, mark, wait, count, unused → 1 or 0
function run.give_back()
  local h = lease_of(ARGV[6], ARGV[7])
  if not h then
    c.refused = (c.refused or 0) + 1
    return 0
  end
  if ARGV[10] == '1' then
    h.last = h.last - h.delay
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
      if ARGV[6] == '1' then h.hold = max(h.hold, now + h.delay) end
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
  if h.leased >= PARALLEL then at = max(at, now + max(h.delay, 0.05)) end
  if at <= now and is_taken(h) then at = h.hold end
  if at > now then return precise(at - now) end
  h.hold = now + FRESH + h.delay
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
        close(mark, reason)
        c.waiting, c.done = c.waiting - 1, c.done + 1
      end
    else
      local old = call('HGET', bucket(mark), mark)
      local kind = old and kind_of(old)
      if not old or kind == DROPPED or kind == AWAY then
        if kind == DROPPED then c.dropped = c.dropped - 1 end
        if kind == AWAY then c.away = c.away - 1 end
        close(mark, reason)
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
      close(mark, 'A' .. pack('<d', link.score))
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
    local old = call('HGET', bucket(mark), mark)
    if old and kind_of(old) == AWAY then
      c.away = c.away - 1
      if is_spent(h) then
        close(mark, code('host_budget', DROPPED))
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
  h.delay = max(c.delay, h.own)
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
for _, token in ipairs(call('ZRANGE', ENDS, '-inf', now, 'BYSCORE')) do
  local ended = tonumber(call('ZSCORE', ENDS, token))
  local h = come_back(token, true)
  -- A request may have left as late as is allowed.
  h.hold = max(h.hold, ended - LATE * c.lease + h.delay)
  dirty = true
end

local answer = run[ARGV[5]]()
flush()
return answer
