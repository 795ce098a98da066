-- Leases

local function come_back(token, count)
  local out = call('HGET', LEASES, token)
  local mark, h = sub(out, 1, 9), host(sub(out, 12, 11 + unpack_('<I2', out, 10)))
  call('HDEL', LEASES, token)
  call('ZREM', ENDS, token)
  h[LEASED] = h[LEASED] - 1
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
    if h[CHANGE] >= FILE then file(h) end
    if h[ADDED] then line_written(h) end
    if h[CHANGE] > 0 then
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

-- Which of them may wait or be out; of most hosts all that wait are at hand. From here on hosts stand for their names.
local function may_be_there(offers, marks)
  local count = #marks
  for i = 1, #offers, 5 do
    local mark, h = offers[i], seen[offers[i + 3]]
    offers[i + 3] = h
    if h[MORE] or h[LEASED] > 0 or h[LINE] ~= '' and find(h[LINE], mark, 1, true) then
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
