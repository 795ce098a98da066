-- Hosts

-- From what is stored, or was to be stored; nothing: it is new.
local function host_from(name, stored)
  local h
  if stored and stored ~= '' then
    local flags, pages, leased, shut, score, top = byte(stored), 0, 0, 0, -INF, 0
    local head = HEAD[flags % 8]
    local line = sub(stored, head + 1)
    if head > 1 then pages, leased, shut = unpack_(PAST, stored, 2) end
    if line ~= '' then score, top = unpack_('>dI6', line) end
    local filed = flags % 2 == IS_READY and sub(line, 1, 14) or ''
    h = {
      name, pages, leased, shut, flags % 16 >= HAS_QUEUE, filed, line, score, top, 0, flags % 8 >= HAS_TIMES and stored,
      false, false, false, false, false, false }
    local old = was[name]
    if old then
      -- Links have joined it in this run.
      h[CHANGE], was[name] = SAVE, nil
      if old ~= true then
        h[CHANGE], h[FILED] = MOVE, sub(old, head + 1, head + 14)
      end
    end
  else
    h = { name, 0, 0, 0, false, '', '', -INF, 0, FILE, false, false, false, false, false, false, false }
    c.hosts = c.hosts + 1
  end
  seen[name], plain[name] = h, false
  return h
end

-- When it may be asked: of most hosts nobody needs to know, because a link joins those that wait; and most have never
-- been asked.
local function wake(h)
  if h[OWN] then return h end
  if h[STORED] then
    local last
    h[OWN], last, h[HOLD], h[BLOCKED], h[DUE] = unpack_(TIMES, h[STORED], TIMES_AT)
    h[LAST] = max(last, c.crashed)
  else
    h[OWN], h[LAST], h[HOLD], h[BLOCKED], h[DUE] = 0, c.crashed, -INF, -INF, -INF
  end
  return h
end

-- As it is stored.
local function host_packed(h)
  local pages, leased, shut, line = h[PAGES], h[LEASED], h[SHUT], h[LINE]
  local flags = (h[FILED] ~= '' and IS_READY or 0) + (h[MORE] and HAS_QUEUE or 0) + (leased > 0 and IS_OUT or 0)
  if not h[OWN] then
    if h[STORED] then
      flags, line = flags + HAS_TIMES, sub(h[STORED], TIMES_AT, HEAD[HAS_TIMES]) .. line
    end
  elseif h[OWN] ~= 0 or h[LAST] > c.crashed or max(h[HOLD], h[BLOCKED], h[DUE]) > -INF then
    flags = flags + HAS_TIMES + HAS_PAST
    return pack('<BI4I4I4ddddd', flags, pages, leased, shut, h[OWN], h[LAST], h[HOLD], h[BLOCKED], h[DUE]) .. line
  end
  if flags % 8 < HAS_TIMES and pages == 0 and leased == 0 and shut == 0 then return char(flags) .. line end
  return pack('<BI4I4I4', flags + HAS_PAST, pages, leased, shut) .. line
end

local function host(name)
  return wake(seen[name] or host_from(name, plain[name] or call('HGET', HOSTS, name)))
end

local function delay_of(h)
  return max(c.delay, h[OWN])
end

-- Hosts that are about to be looked at are read in one go. Most of them will only be joined by a link.
local function read_hosts(names)
  local missing, count = {}, 0
  for i = 1, #names do
    local name = names[i]
    if plain[name] == nil then
      count = count + 1
      missing[count], plain[name] = name, ''
    end
  end
  for i = 1, count, 1000 do
    local last = min(i + 999, count)
    local found = call('HMGET', HOSTS, unpack(missing, i, last))
    for n = 1, #found do
      local stored = found[n]
      if stored then
        local name = missing[i + n - 1]
        if byte(stored) < HAS_QUEUE then plain[name] = stored else host_from(name, stored) end
      end
    end
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
  local at, who = string.match(want or '', '^(%S+) (.*)$')
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
    h[SCORE], h[TOP] = unpack_('>dI6', line)
  else
    h[SCORE], h[TOP] = -INF, 0
  end
end

-- The best of a line steps to its front; the others stand as they came.
local function best_first(line)
  local found, score, rank = 1, unpack_('>dI6', line)
  for at = 1 + STAND_SIZE, #line, STAND_SIZE do
    local other, other_rank = unpack_('>dI6', line, at)
    if other > score or other == score and other_rank > rank then found, score, rank = at, other, other_rank end
  end
  if found == 1 then return line end
  return sub(line, found, found + STAND_SIZE - 1) .. sub(line, 1, found - 1) .. sub(line, found + STAND_SIZE)
end

-- The best link of a host has gone: the next one steps forward, or is found in the queue when it is needed.
local function advance(h)
  local line = sub(h[LINE], STAND_SIZE + 1)
  if not h[MORE] and #line > STAND_SIZE then line = best_first(line) end
  set_line(h, line)
end

-- A line that is full, in its order: from now on its last ones may have to leave it.
local function put_in_order(h)
  local line, stands = h[LINE], {}
  for at = 1, #line, STAND_SIZE do
    local score, rank = unpack_('>dI6', line, at)
    stands[#stands + 1] = { score, rank, sub(line, at, at + STAND_SIZE - 1) }
  end
  table.sort(stands, function(a, b) return precedes(a[1], a[2], b[1], b[2]) end)
  for i = 1, #stands do stands[i] = stands[i][3] end
  h[LINE] = concat(stands)
end

-- What is taken away is named, so that reading the log again takes the same away.
local function look(h)
  line_written(h)
  local most = ROOM / STAND_SIZE
  local tops = call('ZRANGE', queue_of(h), -most, -1, 'WITHSCORES')
  local count, members, stands = #tops / 2, {}, {}
  for i = 1, count do
    local member = tops[2 * (count - i) + 1]
    members[i], stands[i] = member, pack('>d', tonumber(tops[2 * (count - i) + 2])) .. member
  end
  all('ZREM', queue_of(h), members)
  h[MORE] = count == most
  set_line(h, concat(stands))
end

-- All of its links into the queue.
local function retreat(h)
  local line = h[LINE]
  for at = 1, #line, STAND_SIZE do
    stand_behind(h, unpack_('>d', line, at), sub(line, at + 8, at + STAND_SIZE - 1))
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
  if not h[MORE] then put_in_order(h) end
  local other, other_rank = unpack_('>dI6', h[LINE], size - STAND_SIZE + 1)
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
  local at = precedes(score, rank, h[SCORE], h[TOP]) and 0 or #h[LINE]
  line = h[LINE]
  if h[MORE] or at == ROOM then
    while at > 0 do
      local other, other_rank = unpack_('>dI6', line, at - STAND_SIZE + 1)
      if precedes(other, other_rank, score, rank) then break end
      at = at - STAND_SIZE
    end
  end
  line = sub(line, 1, at) .. pack(STAND, score, rank, mark) .. sub(line, at + 1)
  if #line > ROOM then
    stand_behind(h, unpack_('>d', line, ROOM + 1), sub(line, ROOM + 9))
    line = sub(line, 1, ROOM)
  end
  h[LINE] = line
  if at == 0 then
    h[SCORE], h[TOP], h[CHANGE] = score, rank, MOVE
  else
    save(h)
  end
end

-- The number by which Redis orders hosts that are ready: never more for a lower score. What is below 0 stands for itself,
-- because its bytes are not in the order of its value.
local function coarse(score)
  return score < 0 and score or floor(score * 1048576)
end

-- Put a host where it belongs after a change; what comes of it is written down for many hosts at once.
local function file(h)
  if is_vacant(h) then look(h) end
  local place, due, past, name = '', -INF, -INF, h[NAME]
  -- Most hosts that are filed are new.
  local at = c.crashed + c.delay
  if h[OWN] or h[STORED] then
    wake(h)
    at, past = ready_at(h), h[DUE]
  end
  if h[TOP] > 0 and h[LEASED] < PARALLEL and h[PAGES] + h[LEASED] < HOST_PAGES then
    if at <= now then
      place = sub(h[LINE], 1, 14)
    elseif at < INF then
      due = at
    end
  end
  if h[FILED] ~= place then
    if h[FILED] ~= '' then ready_gone[#ready_gone + 1] = h[FILED] .. name end
    if place ~= '' then
      local count = #ready_come
      ready_come[count + 1], ready_come[count + 2] = coarse(h[SCORE]), place .. name
    end
  end
  if due ~= past then
    wake(h)[DUE] = due
    if due == -INF then
      wait_gone[#wait_gone + 1] = name
    else
      local count = #wait_come
      wait_come[count + 1], wait_come[count + 2] = spelled(due), name
    end
  end
  h[FILED], h[CHANGE] = place, SAVE
end

-- Before anybody looks, and before any of the hosts is filed again.
local function write_files()
  all('ZREM', READY, ready_gone)
  all('ZADD', READY, ready_come)
  all('ZREM', WAIT, wait_gone)
  all('ZADD', WAIT, wait_come)
  ready_come, ready_gone, wait_come, wait_gone = {}, {}, {}, {}
end
