-- Hosts

local function host_from(name, stored)
  local h
  if stored then
    local pages, leased, shut, flags, filed = unpack_(HOST, stored)
    local score, top, at = -INF, 0, flags >= HAS_TIMES and HOST_SIZE + TIMES_SIZE or HOST_SIZE
    local line = sub(stored, at + 1)
    if line ~= '' then score, top = unpack_('<d>I6', line) end
    h = {
      name, pages, leased, shut, flags % 2 == HAS_QUEUE, filed, line, score, top, 0, flags >= HAS_TIMES and stored,
      false, false, false, false, false, false }
  else
    h = { name, 0, 0, 0, false, 0, '', -INF, 0, FILE, false, false, false, false, false, false, false }
    c.hosts = c.hosts + 1
  end
  seen[name] = h
  return h
end

-- When it may be asked: of most hosts nobody needs to know, because a link joins those that wait; and most have never
-- been asked.
local function wake(h)
  if h[OWN] then return h end
  if h[STORED] then
    local last
    h[OWN], last, h[HOLD], h[BLOCKED], h[DUE] = unpack_(TIMES, h[STORED], HOST_SIZE + 1)
    h[LAST] = max(last, c.crashed)
  else
    h[OWN], h[LAST], h[HOLD], h[BLOCKED], h[DUE] = 0, c.crashed, -INF, -INF, -INF
  end
  return h
end

-- As it is stored.
local function host_packed(h)
  local flags, line = h[MORE] and HAS_QUEUE or 0, h[LINE]
  if not h[OWN] then
    if not h[STORED] then return pack('<I4I4I4B>I6c0', h[PAGES], h[LEASED], h[SHUT], flags, h[FILED], line) end
    line = sub(h[STORED], HOST_SIZE + 1, HOST_SIZE + TIMES_SIZE) .. line
  elseif h[OWN] == 0 and max(h[HOLD], h[BLOCKED], h[DUE]) == -INF and h[LAST] <= c.crashed then
    return pack('<I4I4I4B>I6c0', h[PAGES], h[LEASED], h[SHUT], flags, h[FILED], line)
  else
    line = pack('<dddddc0', h[OWN], h[LAST], h[HOLD], h[BLOCKED], h[DUE], line)
  end
  return pack('<I4I4I4B>I6c0', h[PAGES], h[LEASED], h[SHUT], flags + HAS_TIMES, h[FILED], line)
end

local function host(name)
  return wake(seen[name] or host_from(name, call('HGET', HOSTS, name)))
end

local function delay_of(h)
  return max(c.delay, h[OWN])
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
  return base .. ':queue:' .. h[NAME]
end

local function touch(h)
  if h[CHANGE] < FILE then h[CHANGE] = FILE end
  return h
end

local function save(h)
  if h[CHANGE] < SAVE then h[CHANGE] = SAVE end
end

local function ready_at(h)
  return max(h[LAST] + delay_of(h), h[HOLD], h[BLOCKED])
end

-- Other crawls on this server are told until when a host is taken.
local function tell(h, at)
  if c.pace ~= '' then told[h[NAME]] = at - c.offset end
end

-- For as long as it is out; should the worker die, others wait from the last moment at which it may have asked.
local function tell_out(h)
  tell(h, now + max(c.lease, (1 - LATE) * c.lease + delay_of(h)))
end

-- A host is free again after its delay, and if another crawl has asked for it meanwhile, that one goes first.
local function tell_free(h)
  if c.pace == '' then return end
  tell(h, max(h[LAST] + delay_of(h), h[HOLD]))
  local want = wants[h[NAME]]
  if want == nil then want = call('HGET', WANTED, h[NAME]) end
  local at, who = match(want or '', '^(%S+) (.*)$')
  -- It asks again once in a delay; whoever does not has lost interest.
  if at and who ~= base and time - at < 2 * delay_of(h) + 2 then
    h[HOLD] = max(h[HOLD], h[LAST] + 2 * delay_of(h), now + delay_of(h)) + TURN
  end
end

-- Whether another crawl has the host at the moment; then it is looked at again a little later.
local function is_taken(h)
  if c.pace == '' then return false end
  local until_ = told[h[NAME]]
  if not until_ then
    local said = paces[h[NAME]]
    if said == nil then said = call('ZSCORE', c.pace, h[NAME]) end
    until_ = tonumber(said or '-inf')
  end
  -- What lies further ahead was written before the clock was set back.
  if until_ <= time or until_ > time + max(AHEAD, 2 * c.lease) then return false end
  call('HSET', WANTED, h[NAME], precise(time) .. ' ' .. base)
  h[HOLD] = max(h[HOLD], now + min(until_ - time, max(delay_of(h), 0.05)))
  return true
end

local function is_spent(h, credit)
  return h[PAGES] - (credit or 0) >= HOST_PAGES
end

local function postpone(h, wait)
  if wait > 0 and now + wait > h[HOLD] then
    h[HOLD] = now + wait
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
  local added = h[ADDED]
  if not added then
    added = {}
    h[ADDED] = added
  end
  local count = #added
  added[count + 1], added[count + 2] = score, member
  if not h[MORE] then
    h[MORE] = true
    save(h)
  end
end

local function line_written(h)
  if h[ADDED] then
    all('ZADD', queue_of(h), h[ADDED])
    h[ADDED] = false
  end
end

-- Whether the best link of a host is yet to be found in its queue.
local function is_vacant(h)
  return h[MORE] and h[LINE] == ''
end

local function set_line(h, line)
  h[LINE], h[CHANGE] = line, MOVE
  if line ~= '' then
    h[SCORE], h[TOP] = unpack_('<d>I6', line)
  else
    h[SCORE], h[TOP] = -INF, 0
  end
end

-- The best link of a host has gone: the next one steps forward, or is found in the queue when it is needed.
local function advance(h)
  set_line(h, sub(h[LINE], STAND_SIZE + 1))
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
  h[MORE] = count == most
  set_line(h, concat(stands))
end

-- All of its links into the queue.
local function retreat(h)
  local line = h[LINE]
  for at = 1, #line, STAND_SIZE do
    stand_behind(h, unpack_('<d', line, at), sub(line, at + 8, at + STAND_SIZE - 1))
  end
  set_line(h, '')
  line_written(h)
end

-- Where a link stands in the line of its host.
local function place_of(h, rank, mark)
  local line, member, at = h[LINE], pack(MEMBER, rank, mark), 1
  while true do
    at = find(line, member, at, true)
    if not at or at % STAND_SIZE == 9 then return at and at - 8 end
    at = at + 1
  end
end

-- Whether a link is for the queue: everybody with the host comes before everybody in the queue.
local function is_behind(h, score, rank)
  local size = #h[LINE]
  if size == 0 or not h[MORE] and size < ROOM then return h[MORE] end
  local other, other_rank = unpack_('<d>I6', h[LINE], size - STAND_SIZE + 1)
  return not precedes(score, rank, other, other_rank)
end

-- A link takes its place among those of its host; who stood last may have to leave the line.
local function line_up(mark, score, rank, h)
  local line = h[LINE]
  if line == '' and not h[MORE] then
    h[LINE], h[SCORE], h[TOP], h[CHANGE] = pack(STAND, score, rank, mark), score, rank, MOVE
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
  h[LINE] = line
  if at == 0 then
    h[SCORE], h[TOP], h[CHANGE] = score, rank, MOVE
  else
    save(h)
  end
end

-- Put a host where it belongs after a change; what comes of it is written down for many hosts at once.
local function file(h)
  if is_vacant(h) then look(h) end
  local rank, due, was, name = 0, -INF, -INF, h[NAME]
  -- Most hosts that are filed are new.
  local at = c.crashed + c.delay
  if h[OWN] or h[STORED] then
    wake(h)
    at, was = ready_at(h), h[DUE]
  end
  if h[TOP] > 0 and h[LEASED] < PARALLEL and h[PAGES] + h[LEASED] < HOST_PAGES then
    if at <= now then
      rank = h[TOP]
    elseif at < INF then
      due = at
    end
  end
  if h[FILED] > 0 and h[FILED] ~= rank then ready_gone[#ready_gone + 1] = pack('>I6c0', h[FILED], name) end
  if rank > 0 and (h[FILED] ~= rank or h[CHANGE] == MOVE) then
    local count = #ready_come
    ready_come[count + 1], ready_come[count + 2] = h[SCORE], pack('>I6c0', rank, name)
  end
  if due ~= was then
    wake(h)[DUE] = due
    if due == -INF then
      wait_gone[#wait_gone + 1] = name
    else
      local count = #wait_come
      wait_come[count + 1], wait_come[count + 2] = due, name
    end
  end
  h[FILED], h[CHANGE] = rank, SAVE
end

-- Before anybody looks, and before any of the hosts is filed again.
local function write_files()
  all('ZREM', READY, ready_gone)
  all('ZADD', READY, ready_come)
  all('ZREM', WAIT, wait_gone)
  all('ZADD', WAIT, wait_come)
  ready_come, ready_gone, wait_come, wait_gone = {}, {}, {}, {}
end
