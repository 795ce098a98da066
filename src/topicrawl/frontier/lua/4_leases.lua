-- Leases

-- As a text: one for many.
local function end_of_lease()
  return precise(floor((now + c.lease) * 1e6))
end

-- Token, host and worker of a lease.
local function read_lease(stored)
  local token, length = unpack_(LEASE, stored)
  return token, sub(stored, LEASE_SIZE + 1, LEASE_SIZE + length), sub(stored, LEASE_SIZE + length + 1)
end

local function come_back(mark, count)
  local _, name = read_lease(call('HGET', LEASES, mark))
  local h = host(name)
  call('HDEL', LEASES, mark)
  call('ZREM', ENDS, mark)
  h[LEASED] = h[LEASED] - 1
  touch(h)
  c.leased = c.leased - 1
  local link = link_of(mark)
  c.waiting = c.waiting + 1
  if count then
    link.attempts = link.attempts + 1
    if link.attempts >= c.attempts then
      drop(mark, code('set_aside', DROPPED), h)
      return h
    end
    store(link)
  end
  line_up(mark, link.score, rank_of(link), h)
  return h
end

local function lease_of(token, mark)
  local stored = call('HGET', LEASES, mark)
  if not stored then return nil end
  local held, name = read_lease(stored)
  return held == tonumber(token) and host(name) or nil
end

-- A host that is ready has another best link than before.
local function move_up(name, old, text)
  local at = HEAD[byte(text)] + 1
  local score, rank = unpack_('>dI6', text, at)
  local count = #ready_come
  ready_come[count + 1], ready_come[count + 2] = coarse(score), pack('>dI6c0', score, rank, name)
  if old ~= '' then
    score, rank = unpack_('>dI6', old, at)
    ready_gone[#ready_gone + 1] = pack('>dI6c0', score, rank, name)
  end
end

local function flush()
  local hosts, gone, count = {}, {}, 0
  for name, h in pairs(seen) do
    if h[CHANGE] >= FILE then file(h) end
    if h[ADDED] then line_written(h) end
    if h[CHANGE] > 0 then
      hosts[count + 1], hosts[count + 2] = name, host_packed(h)
      count = count + 2
    end
  end
  for name, old in pairs(was) do
    local text = plain[name]
    hosts[count + 1], hosts[count + 2] = name, text
    count = count + 2
    if old ~= true then move_up(name, old, text) end
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
  for name, at in pairs(told) do pace[#pace + 1], pace[#pace + 2] = spelled(at), name end
  all('ZADD', c.pace, pace)
  all('HDEL', WANTED, unwanted)
  write_files()
  all('HSET', HOSTS, hosts)
  all('HSET', LINKS, kept)
  all('HDEL', LINKS, gone)
  dirty = dirty or hosts[1] or kept[1] or gone[1]
  local changed = {}
  c.next = newest
  for i = 2, CHANGED do
    local name, value = NAMES[i], before[i]
    -- The first ones are texts.
    if i > 3 then value = tonumber(value) end
    if c[name] ~= value then
      changed[#changed + 1], changed[#changed + 2] = name, c[name]
      -- That time has passed is not worth a line in the log of the server.
      dirty = dirty or (name ~= 'outer' and name ~= 'inner')
    end
  end
  if dirty and changed[1] then call('HSET', C, unpack(changed)) end
end

-- Offers

local function put_in(mark, h, score, rest)
  newest = newest + 1
  c.waiting = c.waiting + 1
  store_packed(mark, pack('<ddI6I2', score, score, newest, 0) .. rest)
  line_up(mark, score, LAST_RANK - newest, h)
end

local function take(link, h, score, replace, rest)
  local better = score > link.score
  if not (better or replace == 1) or is_out(link.mark, h) then return end
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
    touch(h)[PAGES] = h[PAGES] - kind
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

-- Which of them may wait or be out; of most hosts all that wait are at hand.
local function may_be_there(offers, marks)
  local count = #marks
  for i = 1, #offers, 5 do
    if not plain[offers[i + 3]] then
      count = count + 1
      marks[count] = offers[i]
    end
  end
end

-- Most links are new, and join a host of which all is at hand: then its text is cut open and put together again, and
-- nothing else of it needs to be looked at. False: it is not so simple.
local function joins(mark, score, name, rest)
  local text, number = plain[name], newest + 1
  if not text then return false end
  if text == '' then
    if is_anew then return false end
    c.hosts, was[name] = c.hosts + 1, ''
    plain[name] = pack('>BdI6c9', IS_READY, score, LAST_RANK - number, mark)
  else
    local flags, size = byte(text), #text
    local head, pages, shut, _ = HEAD[flags], 0, 0
    if find(text, mark, head + 1, true) then return false end
    if head > 1 then pages, _, shut = unpack_(PAST, text, 2) end
    local is_best = size > head and unpack_('>d', text, head + 1) < score
    if size == head or size - head >= ROOM or is_best and flags % 2 ~= IS_READY
      or pages >= HOST_PAGES or shut ~= 0 and band(shut, lshift(1, byte(mark, 9))) ~= 0 then
      links[mark] = false -- for all that wait are in the text
      return false
    end
    local old = was[name]
    if is_best then
      plain[name] = sub(text, 1, head) .. pack(STAND, score, LAST_RANK - number, mark) .. sub(text, head + 1)
      if not old or old == true then was[name] = text end
    else
      -- It was found last, so that it stands behind its equals.
      plain[name] = text .. pack(STAND, score, LAST_RANK - number, mark)
      if not old then was[name] = true end
    end
  end
  newest = number
  -- Not all by `pack`, which takes long texts byte by byte.
  store_packed(mark, pack('<ddI6I2', score, score, number, 0) .. rest)
  return true
end

-- Hosts were read, and what may be there of the links.
local function absorb(offers, reopen)
  local new, joined = 0, 0
  for i = 1, #offers, 5 do
    local mark, score, name = offers[i], offers[i + 1], offers[i + 3]
    if joins(mark, score, name, offers[i + 4]) then
      joined = joined + 1
    else
      local h = seen[name] or host_from(name, plain[name])
      local link = link_of(mark)
      if link then
        if not is_spent(h) then take(link, h, score, offers[i + 2], offers[i + 4]) end
      else
        local old = h[SHUT] ~= 0 and closed(mark, h)
        local welcome = h[PAGES] < HOST_PAGES
        if old then
          welcome = comes_back(mark, h, old, score, reopen)
          if welcome then open(mark) end
        elseif welcome then
          new = new + 1
        end
        if welcome then put_in(mark, h, score, offers[i + 4]) end
      end
    end
  end
  c.waiting = c.waiting + joined
  if c.capacity > 0 and c.waiting > c.capacity then sweep() end
  return new + joined
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
  local mark, score = sub(h[LINE], 15, STAND_SIZE), h[SCORE]
  advance(h)
  if is_vacant(h) then look(h) end
  -- Tokens follow the clock, so that none is given a second time when the server has lost the end of its log.
  c.token = max(c.token + 1, floor(now * 1e6))
  h[LAST], h[LEASED] = now, h[LEASED] + 1
  c.waiting, c.leased = c.waiting - 1, c.leased + 1
  if c.pace ~= '' then
    tell_out(h)
    unwanted[#unwanted + 1] = h[NAME]
  end
  return { mark = mark, host = h[NAME], token = c.token, score = score }
end

-- Write down what was handed out → for each the token, the lengths of host and link, then these
local function handed_out(out)
  local marks, leases, ends, answer = {}, {}, {}, {}
  local at = end_of_lease()
  for i, lease in ipairs(out) do marks[i] = lease.mark end
  local stored = out[1] and call('HMGET', LINKS, unpack(marks))
  for i, lease in ipairs(out) do
    local mark, name, link = lease.mark, lease.host, stored[i]
    -- What came back in this very run is not written yet.
    if changed_links[mark] then link = packed(link_of(mark)) end
    local head = pack(LEASE, lease.token, #name)
    leases[2 * i - 1], leases[2 * i] = mark, head .. name .. worker
    ends[2 * i - 1], ends[2 * i] = at, mark
    answer[i] = head .. pack('<I4', #link) .. name .. link
  end
  all('HSET', LEASES, leases)
  all('ZADD', ENDS, ends)
  return concat(answer)
end

local function promote()
  local due = call('ZRANGE', WAIT, '-inf', now, 'BYSCORE')
  if not due[1] then return end
  read_hosts(due)
  for _, name in ipairs(due) do file(seen[name] or host_from(name, plain[name])) end
  write_files()
  dirty = true
end
