"""What runs inside Redis: each script is one atomic step, and replies the same when repeated.

They keep to commands of Redis 6. No script can fail half way: Redis refuses for want of memory
only before a script's first write, and numbers are checked before they are sent. Sequences come
as 20 digits, so that comparing texts compares them exactly (Lua's numbers end at 2^53).
"""

from __future__ import annotations

import hashlib


class Script:
    """A Lua text and the SHA-1 by which Redis knows it."""

    __slots__ = ("sha", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


_NOW = """
local function now_of(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local function whole(number) return string.format('%.0f', number) end
"""

_STALE = """
local function is_stale(key, holder, token)
  if token == '' then return false end
  local held = redis.call('HMGET', key, 'holder', 'token')
  return held[1] ~= holder or held[2] ~= token
end
"""

# KEYS: source, counters, then index and list of each place.
# ARGV: sequence, seconds a source is known, seconds a bucket is kept, number of places; bucket,
# member and piece of each place; name and value of each counter. Replies the lists' lengths.
ADD = Script("""
local last = redis.call('GET', KEYS[1])
if last and ARGV[1] <= last then return {} end
local lengths, places = {}, tonumber(ARGV[4])
for place = 1, places do
  local index, list, at = KEYS[2 * place + 1], KEYS[2 * place + 2], 3 * place + 2
  lengths[place] = redis.call('RPUSH', list, ARGV[at + 2])
  redis.call('EXPIRE', list, ARGV[3])
  redis.call('ZADD', index, ARGV[at], ARGV[at + 1])
  redis.call('EXPIRE', index, ARGV[3])
  if lengths[place] == 1 then
    -- A new bucket: time to see whether the oldest ones have gone by themselves.
    local name = string.sub(list, 1, -1 - #ARGV[at + 1])
    for _, member in ipairs(redis.call('ZRANGE', index, 0, 1)) do
      if redis.call('EXISTS', name .. member) == 0 then redis.call('ZREM', index, member) end
    end
  end
end
for at = 3 * places + 5, #ARGV, 2 do
  redis.call('HINCRBYFLOAT', KEYS[2], ARGV[at], ARGV[at + 1])
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return lengths
""")

# KEYS: index, what the names of the lists begin with. ARGV: first and last score, layout.
READ = Script("""
local found = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[2])) do
  local bucket, layout = string.match(member, '^(.-):(.*)$')
  if layout == ARGV[3] then
    local pieces = redis.call('LRANGE', KEYS[2] .. member, 0, -1)
    if #pieces > 0 then found[#found + 1] = {bucket, pieces} end
  end
end
return found
""")

# KEYS: list. ARGV: mark of the first piece, how many pieces the sum replaces, the sum, seconds.
# Pieces are only ever appended or summed up, so the same first piece means the same pieces.
SUM_UP = Script("""
local first = redis.call('LINDEX', KEYS[1], 0)
if not first or string.sub(first, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('LTRIM', KEYS[1], ARGV[2], -1)
redis.call('LPUSH', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
""")

# KEYS: index, what the names of the lists begin with. ARGV: last score.
PRUNE = Script("""
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do
  redis.call('UNLINK', KEYS[2] .. member)
end
return redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
""")

# KEYS: documents, lease. ARGV: key, value, holder, token.
PUT = Script(
    _STALE
    + """
if is_stale(KEYS[2], ARGV[3], ARGV[4]) then return 0 end
local old, version = redis.call('HGET', KEYS[1], ARGV[1]), 0
if old then version = tonumber(string.sub(old, 1, string.find(old, ':', 1, true) - 1)) end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f:', version + 1) .. ARGV[2])
return 1
"""
)

# KEYS: log, last sequences of all logs, source, lease. ARGV: name of the log, how many are kept,
# sequence or nothing, seconds a source is known, seconds a log is kept, holder, token, values.
APPEND = Script(
    _STALE
    + """
local last = ARGV[3] ~= '' and redis.call('GET', KEYS[3])
if last and ARGV[3] <= last then return 1 end
if is_stale(KEYS[4], ARGV[6], ARGV[7]) then return 0 end
if #ARGV < 8 then return 1 end
for at = 8, #ARGV do
  local sequence = redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
  redis.call('XADD', KEYS[1], string.format('%.0f-0', sequence), 'v', ARGV[at])
end
redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[5])
if ARGV[3] ~= '' then redis.call('SET', KEYS[3], ARGV[3], 'EX', ARGV[4]) end
return 1
"""
)

# KEYS: lease. ARGV: time or nothing, holder, milliseconds, milliseconds a clock may be set back,
# seconds a lease is known. Replies the token, or 0 while another's lease runs.
ACQUIRE = Script(
    _NOW
    + """
local now = now_of(ARGV[1])
local held = redis.call('HMGET', KEYS[1], 'holder', 'token', 'since', 'until')
local token = tonumber(held[2] or 0)
if held[1] ~= ARGV[2] then
  if held[1] and tonumber(held[3]) - tonumber(ARGV[4]) <= now and now < tonumber(held[4]) then
    return 0
  end
  token = token + 1
end
redis.call('HSET', KEYS[1], 'holder', ARGV[2], 'token', whole(token),
  'since', whole(now), 'until', whole(now + tonumber(ARGV[3])))
redis.call('EXPIRE', KEYS[1], ARGV[5])
return token
"""
)

# KEYS: lease. ARGV: holder, token.
RELEASE = Script(
    _STALE
    + """
if is_stale(KEYS[1], ARGV[1], ARGV[2]) then return 0 end
return redis.call('HSET', KEYS[1], 'until', '0')
"""
)

# KEYS: records, their order. ARGV: time or nothing, milliseconds, most, key and value of each.
# The order is that of arrival; what has run out behind younger records goes when it is its turn.
REMEMBER = Script(
    _NOW
    + """
local now = now_of(ARGV[1])
local ends = whole(now + tonumber(ARGV[2])) .. ':'
local youngest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
local place = tonumber(youngest[2] or 0)
for at = 4, #ARGV, 2 do
  place = place + 1
  redis.call('HSET', KEYS[1], ARGV[at], ends .. ARGV[at + 1])
  redis.call('ZADD', KEYS[2], whole(place), ARGV[at])
end
local excess = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
for turn = 1, 1000 + #ARGV do
  local oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not oldest then break end
  local value = redis.call('HGET', KEYS[1], oldest)
  if turn > excess and tonumber(string.match(value, '^%d+')) > now then break end
  redis.call('HDEL', KEYS[1], oldest)
  redis.call('ZREM', KEYS[2], oldest)
end
local left = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], whole(left))
redis.call('PEXPIRE', KEYS[2], whole(left))
return 1
"""
)

# KEYS: records, their order, claim, claims that arrived. ARGV: time or nothing, seconds a claim is
# kept, keys. The claim holds what was taken, for a taker whom the reply did not reach.
TAKE = Script(
    _NOW
    + """
for at = 4, #KEYS do redis.call('UNLINK', KEYS[at]) end
if redis.call('EXISTS', KEYS[3]) == 1 then return redis.call('HGETALL', KEYS[3]) end
local now, found = now_of(ARGV[1]), {}
for at = 3, #ARGV do
  local value = redis.call('HGET', KEYS[1], ARGV[at])
  if value then
    redis.call('HDEL', KEYS[1], ARGV[at])
    redis.call('ZREM', KEYS[2], ARGV[at])
    local colon = string.find(value, ':', 1, true)
    if tonumber(string.sub(value, 1, colon - 1)) > now then
      found[#found + 1] = ARGV[at]
      found[#found + 1] = string.sub(value, colon + 1)
      redis.call('HSET', KEYS[3], ARGV[at], found[#found])
    end
  end
end
redis.call('EXPIRE', KEYS[3], ARGV[2])
return found
"""
)
