import { createHmac } from 'node:crypto'
import t from 'tap'
import type { BotSpec } from '../bot-spec.js'
import type { BotType } from '../dialects/registry.js'
import { handshakeOf } from './handshake.js'

const spec = (type: BotType, more: Partial<BotSpec> = {}): BotSpec => ({
  type,
  url: 'wss://bot.example.com/talk?b=2&a=1',
  format: 'linear16',
  sampleRate: 16_000,
  secret: 'user:secret',
  customParameters: {},
  callId: 'call-uuid',
  accountId: 'account-uuid',
  direction: 'inbound',
  from: '+91',
  to: '+91',
  maxCallSeconds: 1,
  ...more,
})

t.test('each type sends its own credentials, and none without a secret', async (t) => {
  const basic = `Basic ${Buffer.from('user:secret').toString('base64')}`
  const hmac = (algorithm: string, text: string) =>
    createHmac(algorithm, 'user:secret').update(text).digest('base64')
  const expected: Readonly<Record<BotType, Record<string, string>>> = {
    static: { authorization: 'Bearer user:secret' },
    audiosocket: {},
    telnyx: { authorization: 'Bearer user:secret' },
    vonage: { authorization: 'Bearer user:secret' },
    exotel: { authorization: basic },
    jambonz: { authorization: basic },
    chan_websocket: { authorization: basic },
    chan_websocket_json: { authorization: basic },
    twilio: { 'x-twilio-signature': hmac('sha1', 'wss://bot.example.com/talk?b=2&a=1') },
    plivo: {
      'x-plivo-signature-v3': hmac('sha256', 'https://bot.example.com/talk?a=1&b=2.nonce'),
      'x-plivo-signature-v3-nonce': 'nonce',
    },
    vobiz: {
      'x-vobiz-signature-v3': hmac('sha256', 'https://bot.example.com/talk?a=1&b=2.nonce'),
      'x-vobiz-signature-v3-nonce': 'nonce',
    },
  }
  for (const [type, headers] of Object.entries(expected)) {
    const made = handshakeOf(spec(type as BotType), 'nonce')
    t.strictSame(made.headers, { 'x-call-id': 'call-uuid', ...headers }, type)
    const open = handshakeOf(spec(type as BotType, { secret: null }), 'nonce')
    t.strictSame(open.headers, { 'x-call-id': 'call-uuid' }, `${type} without a secret`)
  }
})

t.test('addresses and subprotocols', async (t) => {
  t.equal(handshakeOf(spec('exotel'), 'n').url, 'wss://bot.example.com/talk?b=2&a=1&sample-rate=16000')
  const named = 'wss://bot.example.com/talk?sample-rate=8000'
  t.equal(handshakeOf(spec('exotel', { url: named }), 'n').url, named, 'what the customer wrote stays')
  t.equal(handshakeOf(spec('static'), 'n').url, 'wss://bot.example.com/talk?b=2&a=1')
  t.strictSame(handshakeOf(spec('static'), 'n').subprotocols, [[]])
  t.strictSame(handshakeOf(spec('jambonz'), 'n').subprotocols, [
    ['audio.drachtio.org', 'audio.jambonz.org'],
    [],
  ])
  t.strictSame(handshakeOf(spec('chan_websocket'), 'n').subprotocols, [['media'], []])
})

t.test('a bot that is dialled again finds its token', async (t) => {
  t.equal(handshakeOf(spec('twilio', { resumeToken: 'a' }), 'n').headers['x-resume-token'], 'a')
  t.notOk('x-resume-token' in handshakeOf(spec('twilio'), 'n').headers)
})

t.test('Plivo compares a decoded and sorted query', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['', ''],
    ['?', ''],
    ['?name=a%20b', '?name=a b'],
    ['?name=a+b', '?name=a b'],
    ['?t=a%2Bb', '?t=a+b'],
    ['?u=https://x', '?u=https://x'],
    ['?q=a,b', '?q=a,b'],
    ['?a=2&a=1', '?a=1&a=2'],
    ['?b=2&a=1&B=3', '?B=3&a=1&b=2'],
    ['?flag&a=', '?a=&flag='],
    ['?a=1#part', '?a=1'],
  ]
  for (const [query, signed] of cases) {
    const { headers } = handshakeOf(
      spec('plivo', { url: `wss://bot.example.com:8443/t%20k/${query}` }),
      'nonce',
    )
    const text = `https://bot.example.com:8443/t%20k/${signed}.nonce`
    t.equal(
      headers['x-plivo-signature-v3'],
      createHmac('sha256', 'user:secret').update(text).digest('base64'),
      query,
    )
  }
})
