import t from 'tap'
import type { BotSpec } from '../bot-spec.js'
import { handshakeOf } from '../transport/handshake.js'
import { bearerToken } from './authentication.js'
import { type BotDialect, NARROWBAND, supportsAudio } from './bot-dialect.js'
import { NATIVE } from './native.js'
import { BOT_DIALECTS, BOT_TYPES, dialectOf } from './registry.js'

/** All that a new type of bot adds, except its line in `registry.ts`. */
const ACME = {
  ...NATIVE,
  type: 'acme',
  audio: [['mulaw', NARROWBAND]],
  parameters: 'none',
  authenticate: (secret, request) => ({ ...bearerToken(secret, request), 'x-nonce': request.nonce }),
  rateParameter: 'hz',
  subprotocols: [['acme.v1']],
} as const satisfies BotDialect

const SPEC: BotSpec = {
  type: 'acme',
  url: 'wss://bot.example.com/talk',
  format: 'mulaw',
  sampleRate: 8000,
  secret: 's',
  customParameters: {},
  callId: 'call',
  accountId: 'account',
  direction: 'inbound',
  from: '+91',
  to: '+91',
  maxCallSeconds: 1,
}

t.test('one value describes a new type of bot', async (t) => {
  t.strictSame(handshakeOf(SPEC, 'n', ACME), {
    transport: 'websocket',
    url: 'wss://bot.example.com/talk?hz=8000',
    headers: { 'x-call-id': 'call', authorization: 'Bearer s', 'x-nonce': 'n' },
    subprotocols: [['acme.v1']],
  })
  t.ok(supportsAudio(ACME, { format: 'mulaw', sampleRate: 8000 }))
  t.notOk(supportsAudio(ACME, { format: 'mulaw', sampleRate: 16_000 }))
  const dialect: BotDialect = ACME
  const stream = dialect.open({ spec: SPEC, streamId: 'stream', startedAt: 0 })
  t.match(stream.opening(null).join(), /"event":"start"/)
})

t.test('types are unique, and an unknown one is rejected', async (t) => {
  t.equal(new Set(BOT_TYPES).size, BOT_DIALECTS.length)
  for (const type of BOT_TYPES) t.equal(dialectOf(type).type, type)
  t.throws(() => dialectOf('acme'), TypeError)
})

t.test('every dialect has a default format, and hang-up paths are unique', async (t) => {
  const paths = BOT_DIALECTS.flatMap(({ hangUp }: BotDialect) => hangUp?.paths ?? [])
  t.equal(new Set(paths).size, paths.length)
  for (const { type, audio } of BOT_DIALECTS) t.ok(audio.length > 0, type)
})
