import t from 'tap'
import type { BotSpec } from '../bot-spec.js'
import { BotTextReader } from './bot-message.js'
import type { BotType } from './registry.js'
import { openDialect } from './registry.js'
import type { BotCommand, BotMessage, WireFormat } from './wire-format.js'

/* Each dialect against the literal messages of its documentation: what it writes, and what it reads. */

const STREAM = '5d9f3f9e-1111-4222-8333-444455556666'
const CALL = '0188a5f0-aaaa-4bbb-8ccc-ddddeeeeffff'
const ACCOUNT = '0177a5f0-1212-4343-8565-787898981212'

const BASE: BotSpec = {
  type: 'static',
  url: 'wss://bot.example.com/',
  format: 'linear16',
  sampleRate: 16_000,
  secret: null,
  customParameters: { k: 'v', k2: 'v2' },
  callId: CALL,
  accountId: ACCOUNT,
  direction: 'inbound',
  from: '+919800000001',
  to: '+918000000002',
  maxCallSeconds: 60,
}

const STARTED = 1_754_300_000_000

function open(type: BotType, more: Partial<BotSpec> = {}): WireFormat {
  const spec = { ...BASE, type, ...more }
  return openDialect({ spec, streamId: STREAM, startedAt: STARTED })
}

const json = (text: BotMessage | null): unknown => (text === null ? null : JSON.parse(String(text)))

const media = (dialect: WireFormat, atMs: number): string =>
  `${dialect.mediaHead?.(atMs) ?? ''}AAAA${dialect.mediaTail ?? ''}`

t.test('static', async (t) => {
  const dialect = open('static')
  const [connected, start] = dialect.opening('abc@host')
  t.strictSame(json(connected ?? ''), { event: 'connected', protocol: 'Call', version: '1.0.0' })
  t.strictSame(json(start ?? ''), {
    event: 'start',
    sequenceNumber: '1',
    streamSid: STREAM,
    streamId: STREAM,
    start: {
      streamSid: STREAM,
      streamId: STREAM,
      callSid: CALL,
      callId: CALL,
      accountSid: ACCOUNT,
      accountId: ACCOUNT,
      from: BASE.from,
      to: BASE.to,
      direction: 'inbound',
      tracks: ['inbound'],
      mediaFormat: {
        encoding: 'audio/x-l16',
        format: 'linear16',
        endianness: 'little',
        sampleRate: 16_000,
        channels: 1,
      },
      customParameters: { k: 'v', k2: 'v2' },
      extensions: ['transfer', 'hangup', 'dtmf', 'resume', 'cleared', 'error', 'binary'],
    },
  })
  t.strictSame(json(media(dialect, 0)), {
    event: 'media',
    sequenceNumber: '2',
    streamSid: STREAM,
    media: { track: 'inbound', chunk: '1', timestamp: '0', payload: 'AAAA' },
  })
  const named = (sequenceNumber: string, event: string, body: object) => ({
    event,
    sequenceNumber,
    streamSid: STREAM,
    [event]: body,
  })
  t.strictSame(
    json(dialect.dtmf('5', 160)),
    named('3', 'dtmf', { track: 'inbound_track', digit: '5', durationMs: 160 }),
  )
  t.strictSame(json(dialect.markAck('m1', 'played')), named('4', 'mark', { name: 'm1', status: 'played' }))
  t.strictSame(
    json(dialect.markAck('m"2', 'cleared')),
    named('5', 'mark', { name: 'm"2', status: 'cleared' }),
  )
  t.strictSame(json(dialect.clearAck(1240)), named('6', 'cleared', { droppedMs: 1240 }))
  t.strictSame(
    json(dialect.transfer({ id: 't1', status: 'ringing' })),
    named('7', 'transfer', { id: 't1', status: 'ringing' }),
  )
  t.strictSame(
    json(dialect.error('bad_frame', 'unknown event foo')),
    named('8', 'error', { code: 'bad_frame', message: 'unknown event foo', fatal: false }),
  )
  t.strictSame(
    json(dialect.stop('caller_hangup')),
    named('9', 'stop', { accountSid: ACCOUNT, callSid: CALL, reason: 'caller_hangup' }),
  )
  for (const [format, encoding] of [
    ['mulaw', 'audio/x-mulaw'],
    ['alaw', 'audio/x-alaw'],
  ] as const) {
    const opening = json(open('static', { format, sampleRate: 8000 }).opening('abc@host')[1] ?? '')
    t.match(opening, { start: { mediaFormat: { encoding, format, sampleRate: 8000, channels: 1 } } })
  }
})

t.test('twilio', async (t) => {
  const dialect = open('twilio', { format: 'mulaw', sampleRate: 8000 })
  const streamSid = 'MZ5d9f3f9e111142228333444455556666'
  const callSid = 'CA0188a5f0aaaa4bbb8cccddddeeeeffff'
  const accountSid = 'AC0177a5f0121243438565787898981212'
  t.strictSame(dialect.opening('abc@host').map(json), [
    { event: 'connected', protocol: 'Call', version: '1.0.0' },
    {
      event: 'start',
      sequenceNumber: '1',
      streamSid,
      start: {
        streamSid,
        accountSid,
        callSid,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        customParameters: { from_number: BASE.from, to_number: BASE.to, k: 'v', k2: 'v2' },
      },
    },
  ])
  t.strictSame(json(media(dialect, 20)), {
    event: 'media',
    sequenceNumber: '2',
    streamSid,
    media: { track: 'inbound', chunk: '1', timestamp: '20', payload: 'AAAA' },
  })
  t.strictSame(json(dialect.dtmf('5', 160)), {
    event: 'dtmf',
    sequenceNumber: '3',
    streamSid,
    dtmf: { track: 'inbound_track', digit: '5' },
  })
  for (const how of ['played', 'cleared'] as const) {
    t.match(json(dialect.markAck('m1', how)), { event: 'mark', streamSid, mark: { name: 'm1' } })
  }
  t.strictSame(json(dialect.stop('caller_hangup')), {
    event: 'stop',
    sequenceNumber: '6',
    streamSid,
    stop: { accountSid, callSid },
  })
  t.equal(dialect.clearAck(5), null)
  t.equal(dialect.error('bad_json', 'x'), null, 'nothing of ours but what is asked for')
  const own = open('twilio', { customParameters: { from_number: 'mine' } }).opening('abc@host')[1] ?? ''
  t.match(json(own), { start: { customParameters: { from_number: 'mine', to_number: BASE.to } } })
})

t.test('plivo', async (t) => {
  const dialect = open('plivo', { format: 'mulaw', sampleRate: 8000 })
  t.strictSame(dialect.opening('abc@host').map(json), [
    {
      sequenceNumber: 0,
      event: 'start',
      start: {
        callId: CALL,
        streamId: STREAM,
        accountId: ACCOUNT,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
      },
      extra_headers: 'k=v;k2=v2',
    },
  ])
  t.strictSame(json(media(dialect, 20)), {
    sequenceNumber: 1,
    streamId: STREAM,
    event: 'media',
    media: { track: 'inbound', timestamp: '1754300000020', chunk: 1, payload: 'AAAA' },
    extra_headers: '{}',
  })
  t.strictSame(json(dialect.dtmf('5', 160)), {
    sequenceNumber: 2,
    streamId: STREAM,
    event: 'dtmf',
    dtmf: { track: 'inbound', digit: '5', timestamp: '1754300000020' },
    extra_headers: '{}',
  })
  t.strictSame(json(dialect.markAck('m1', 'played')), {
    sequenceNumber: 3,
    streamId: STREAM,
    event: 'playedStream',
    name: 'm1',
  })
  t.equal(dialect.markAck('m1', 'cleared'), null, 'nothing of what never played')
  t.strictSame(json(dialect.clearAck(7)), { sequenceNumber: 4, streamId: STREAM, event: 'clearedAudio' })
  t.equal(dialect.stop('caller_hangup'), null, 'the socket closes, that is all')
  const wide = json(open('plivo').opening('abc@host')[0] ?? '')
  t.match(wide, { start: { mediaFormat: { encoding: 'audio/x-l16', sampleRate: 16_000 } } })
})

t.test('exotel', async (t) => {
  const dialect = open('exotel', { sampleRate: 8000 })
  t.equal(dialect.framesPerMessage, 5)
  t.strictSame(dialect.opening('abc@host').map(json), [
    { event: 'connected' },
    {
      event: 'start',
      sequence_number: '1',
      stream_sid: STREAM,
      start: {
        stream_sid: STREAM,
        call_sid: CALL,
        account_sid: ACCOUNT,
        from: BASE.from,
        to: BASE.to,
        custom_parameters: { k: 'v', k2: 'v2' },
        media_format: { encoding: 'audio/x-raw', sample_rate: '8000', bit_rate: '16' },
      },
    },
  ])
  const named = (sequence_number: string, event: string, body: object) => ({
    event,
    sequence_number,
    stream_sid: STREAM,
    [event]: body,
  })
  t.strictSame(
    json(media(dialect, 100)),
    named('2', 'media', { chunk: '1', timestamp: '100', payload: 'AAAA' }),
  )
  t.strictSame(json(dialect.dtmf('5', 160)), named('3', 'dtmf', { digit: '5', duration: '160' }))
  t.strictSame(json(dialect.markAck('m1', 'cleared')), named('4', 'mark', { name: 'm1' }))
  t.strictSame(
    json(dialect.stop('caller_hangup')),
    named('5', 'stop', { call_sid: CALL, account_sid: ACCOUNT, reason: 'callended' }),
  )
  t.match(json(dialect.stop('bot_hangup')), { stop: { reason: 'stopped' } })
  const [, start] = open('exotel', { url: 'wss://bot.example.com/?plan=gold&k=query' }).opening(null)
  t.match(json(start ?? ''), { start: { custom_parameters: { plan: 'gold', k: 'v', k2: 'v2' } } })
  const [, narrow] = open('exotel', { format: 'mulaw', sampleRate: 8000 }).opening(null)
  t.match(json(narrow ?? ''), {
    start: { media_format: { encoding: 'audio/x-mulaw', sample_rate: '8000', bit_rate: '8' } },
  })
})

t.test('telnyx', async (t) => {
  const dialect = open('telnyx', { format: 'alaw', sampleRate: 8000 })
  t.strictSame(dialect.opening('abc@host').map(json), [
    { event: 'connected', version: '1.0.0' },
    {
      event: 'start',
      sequence_number: '1',
      stream_id: STREAM,
      start: {
        user_id: ACCOUNT,
        call_control_id: `v3:${CALL}`,
        call_session_id: CALL,
        from: BASE.from,
        to: BASE.to,
        tags: [],
        client_state: null,
        custom_parameters: { k: 'v', k2: 'v2' },
        media_format: { encoding: 'PCMA', sample_rate: 8000, channels: 1 },
      },
    },
  ])
  t.strictSame(json(media(dialect, 20)), {
    event: 'media',
    sequence_number: '2',
    stream_id: STREAM,
    media: { track: 'inbound', chunk: '1', timestamp: '20', payload: 'AAAA' },
  })
  t.strictSame(json(dialect.dtmf('1', 100)), {
    event: 'dtmf',
    sequence_number: '3',
    stream_id: STREAM,
    occurred_at: new Date(STARTED + 20).toISOString(),
    dtmf: { digit: '1' },
  })
  t.strictSame(json(dialect.markAck('m1', 'played')), {
    event: 'mark',
    sequence_number: '4',
    stream_id: STREAM,
    mark: { name: 'm1' },
  })
  t.strictSame(json(dialect.stop('error')), {
    event: 'stop',
    sequence_number: '5',
    stream_id: STREAM,
    stop: { user_id: ACCOUNT, call_control_id: `v3:${CALL}` },
  })
})

t.test('vonage', async (t) => {
  const dialect = open('vonage', { customParameters: { k: 'v', event: 'mine', caller: 'mine' } })
  t.equal(dialect.audioHeader?.length, 0)
  t.strictSame(dialect.opening('abc@host').map(json), [
    { k: 'v', event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000', caller: BASE.from },
  ])
  t.strictSame(json(dialect.dtmf('5', 260)), { event: 'websocket:dtmf', digit: '5', duration: 260 })
  const notify = dialect.readText('{"action":"notify","payload":{"name":"m1","n":[1]}}')
  t.strictSame(notify, { type: 'mark', name: '{"name":"m1","n":[1]}' })
  t.strictSame(json(dialect.markAck('{"name":"m1","n":[1]}', 'played')), {
    event: 'websocket:notify',
    payload: { name: 'm1', n: [1] },
  })
  t.equal(dialect.markAck('{}', 'cleared'), null)
  t.strictSame(json(dialect.clearAck(1)), { event: 'websocket:cleared' })
  t.equal(dialect.stop('caller_hangup'), null)
})

t.test('telnyx: the formats of RTP payloads', async (t) => {
  const encodings: unknown[] = []
  for (const [format, sampleRate] of [
    ['linear16', 16_000],
    ['linear16', 24_000],
    ['g722', 16_000],
    ['opus', 16_000],
    ['opus', 8000],
  ] as const) {
    const start = json(open('telnyx', { format, sampleRate }).opening('abc@host')[1] ?? '')
    encodings.push((start as { start: { media_format: unknown } }).start.media_format)
  }
  t.strictSame(encodings, [
    { encoding: 'L16', sample_rate: 16_000, channels: 1 },
    { encoding: 'L16', sample_rate: 24_000, channels: 1 },
    { encoding: 'G722', sample_rate: 8000, channels: 1 },
    { encoding: 'OPUS', sample_rate: 16_000, channels: 1 },
    { encoding: 'OPUS', sample_rate: 8000, channels: 1 },
  ])
  t.equal(open('telnyx', { format: 'mulaw', sampleRate: 8000 }).coder, null)
})

t.test('chan_websocket: what Asterisk writes, in plain words and as JSON', async (t) => {
  const ulaw = { format: 'mulaw', sampleRate: 8000 } as const
  const words = open('chan_websocket', ulaw)
  t.strictSame(words.opening(null), [
    `MEDIA_START connection_id:${STREAM} channel:WebSocket/parley/${CALL} channel_id:${CALL} format:ulaw optimal_frame_size:160 ptime:20`,
  ])
  t.equal(words.dtmf('5', 160), `DTMF_END digit:5 channel_id:${CALL}`)
  t.equal(words.error('bad_frame', 'no such thing'), `ERROR channel_id:${CALL} error_text:no such thing`)
  const objects = open('chan_websocket_json', { format: 'linear16', sampleRate: 16_000 })
  t.strictSame(objects.opening(null).map(json), [
    {
      event: 'MEDIA_START',
      connection_id: STREAM,
      channel: `WebSocket/parley/${CALL}`,
      channel_id: CALL,
      format: 'slin16',
      optimal_frame_size: 640,
      ptime: 20,
      channel_variables: { k: 'v', k2: 'v2', 'CALLERID(num)': BASE.from, 'CALLERID(dnid)': BASE.to },
    },
  ])
  t.strictSame(json(objects.dtmf('#', 100)), { event: 'DTMF_END', channel_id: CALL, digit: '#' })
  t.strictSame(json(objects.error('bad_frame', 'no such thing')), {
    event: 'ERROR',
    channel_id: CALL,
    error_text: 'no such thing',
  })
  const formats = [
    ['alaw', 8000],
    ['linear16', 8000],
    ['linear16', 24_000],
  ] as const
  t.strictSame(
    formats.map(([format, sampleRate]) =>
      String(open('chan_websocket', { format, sampleRate }).opening(null)[0]).replace(/^.* (?=format)/, ''),
    ),
    [
      'format:alaw optimal_frame_size:160 ptime:20',
      'format:slin optimal_frame_size:320 ptime:20',
      'format:slin24 optimal_frame_size:960 ptime:20',
    ],
  )
})

t.test('chan_websocket: what the queue reports', async (t) => {
  const words = open('chan_websocket', { format: 'mulaw', sampleRate: 8000 })
  const objects = open('chan_websocket_json', { format: 'mulaw', sampleRate: 8000 })
  const told = (dialect: WireFormat, command: string, how: 'played' | 'cleared') => {
    const read = dialect.readText(command)
    return read.type === 'mark' ? dialect.markAck(read.name, how) : read
  }
  t.equal(told(words, 'MARK_MEDIA m1', 'played'), 'MEDIA_MARK_PROCESSED m1')
  t.equal(told(words, 'MARK_MEDIA', 'played'), 'MEDIA_MARK_PROCESSED')
  t.equal(told(words, 'STOP_MEDIA_BUFFERING b 1', 'played'), 'MEDIA_BUFFERING_COMPLETED b 1')
  t.equal(told(words, 'REPORT_QUEUE_DRAINED', 'played'), 'QUEUE_DRAINED')
  // A flush removes the marks, and leaves an empty queue.
  t.equal(told(words, 'MARK_MEDIA m1', 'cleared'), null)
  t.equal(told(words, 'STOP_MEDIA_BUFFERING b1', 'cleared'), null)
  t.equal(told(words, 'REPORT_QUEUE_DRAINED', 'cleared'), 'QUEUE_DRAINED')
  const event = (command: string) => JSON.parse(String(told(objects, command, 'played')))
  t.strictSame(event('{"command":"MARK_MEDIA","correlation_id":"m1"}'), {
    event: 'MEDIA_MARK_PROCESSED',
    channel_id: CALL,
    correlation_id: 'm1',
  })
  t.strictSame(event('{"command":"STOP_MEDIA_BUFFERING"}'), {
    event: 'MEDIA_BUFFERING_COMPLETED',
    channel_id: CALL,
    correlation_id: '',
  })
  t.strictSame(event('{"command":"REPORT_QUEUE_DRAINED"}'), { event: 'QUEUE_DRAINED', channel_id: CALL })
  for (const command of ['PAUSE_MEDIA', '{"command":"GET_STATUS"}', 'SET_MEDIA_DIRECTION in']) {
    t.match(told(words, command, 'played'), { type: 'fault', message: /^[A-Z_]+ is not supported$/ }, command)
  }
  t.match(words.readText('hangup'), { type: 'fault' }, 'names are case-sensitive')
})

t.test('jambonz', async (t) => {
  const dialect = open('jambonz', { sampleRate: 8000, customParameters: { k: 'v', callSid: 'mine' } })
  t.equal(dialect.audioHeader?.length, 0)
  t.strictSame(dialect.opening('abc@host').map(json), [
    {
      k: 'v',
      callSid: CALL,
      from: BASE.from,
      to: BASE.to,
      callId: 'abc@host',
      direction: 'inbound',
      accountSid: ACCOUNT,
      sampleRate: 8000,
      mixType: 'mono',
    },
  ])
  t.strictSame(json(dialect.dtmf('2', 200)), { event: 'dtmf', dtmf: '2', duration: '1600' })
  t.strictSame(json(dialect.playedAck('p1')), { type: 'playDone', data: { id: 'p1' } })
  t.strictSame(json(dialect.markAck('m1', 'played')), {
    type: 'mark',
    data: { name: 'm1', event: 'playout' },
  })
  t.strictSame(json(dialect.markAck('m1', 'cleared')), {
    type: 'mark',
    data: { name: 'm1', event: 'cleared' },
  })
})

const bytes = (text: string) => Buffer.from(text)
const sound = (more: object = {}): BotCommand => ({
  type: 'play',
  audio: bytes('abcd'),
  rate: null,
  id: null,
  ...more,
})
const B64 = bytes('abcd').toString('base64')
const LONG = Buffer.from(Array.from({ length: 320 }, (_, i) => i & 0xff))
const transfer = (more: object = {}) => ({
  type: 'transfer',
  request: {
    id: 't1',
    destination: '+918045000000',
    destinationId: null,
    handoff: 'cold',
    blind: false,
    note: null,
    reason: null,
    ...more,
  },
})

/** Text messages of bots, each with the command that it means; one type writes no text. */
const READS: Readonly<Record<Exclude<BotType, 'audiosocket'>, readonly (readonly [string, unknown])[]>> = {
  static: [
    [`{"event":"media","media":{"payload":"${B64}"}}`, sound()],
    [`{"event":"media","streamSid":null,"media":{"track":"outbound","chunk":7,"payload":"${B64}"}}`, sound()],
    ['{"event":"mark","mark":{"name":"m1"}}', { type: 'mark', name: 'm1' }],
    ['{"event":"mark"}', { type: 'mark', name: '' }],
    ['{"event":"mark","mark":{"name":7}}', { type: 'mark', name: '7' }],
    ['{"event":"clear"}', { type: 'clear' }],
    [
      '{"event":"dtmf","dtmf":{"digits":"12w3#","durationMs":95,"gapMs":"80"}}',
      { type: 'dtmf', keys: '12w3#', timing: { toneMs: 100, gapMs: 80 } },
    ],
    [
      '{"event":"dtmf","digits":"1","gapMs":2000}',
      { type: 'dtmf', keys: '1', timing: { toneMs: 160, gapMs: 2000 } },
    ],
    ['{"event":"dtmf","digits":"1","durationMs":null}', { type: 'dtmf', keys: '1' }],
    ['{"event":"dtmf","digit":"5"}', { type: 'dtmf', keys: '5' }],
    ['{"event":"dtmf","digits":12}', { type: 'dtmf', keys: '12' }],
    ['{"event":"dtmf","dtmf":"a9"}', { type: 'dtmf', keys: 'A9' }],
    ['{"event":"transfer","transfer":{"id":"t1","destination":"+918045000000"}}', transfer()],
    [
      '{"event":"transfer","transfer":{"id":"t1","destination":"+918045000000","blind":true}}',
      transfer({ blind: true }),
    ],
    [
      '{"event":"transfer","transfer":{"id":"t1","destination":"+91","handoff":"warm","blind":true}}',
      { type: 'fault', code: 'bad_frame', message: 'blind of transfer needs the handoff cold' },
    ],
    [
      '{"event":"transfer","transfer":{"id":"t1","decision":"accept"}}',
      { type: 'transfer_decision', id: 't1', accepted: true },
    ],
    [
      '{"event":"transfer","id":"t1","decision":"decline"}',
      { type: 'transfer_decision', id: 't1', accepted: false },
    ],
    [
      '{"event":"transfer","transfer":{"id":"t1","decision":"perhaps"}}',
      { type: 'fault', code: 'bad_frame', message: 'decision of transfer must be accept or decline' },
    ],
    [
      '{"event":"transfer","id":"t1","destinationId":"d","handoff":"warm","note":"n","reason":"r"}',
      transfer({ destination: null, destinationId: 'd', handoff: 'warm', note: 'n', reason: 'r' }),
    ],
    ['{"event":"hangup","hangup":{"reason":"done","drain":true}}', { type: 'hangup', drain: true }],
    [
      '{"event":"resume","resume":{"token":"state-4.2_~+/=:x"}}',
      { type: 'resume', token: 'state-4.2_~+/=:x' },
    ],
    ['{"event":"resume","token":""}', { type: 'resume', token: null }],
    ['{"event":"hangup","drain":false}', { type: 'hangup', drain: false }],
    ['{"event":"hangup"}', { type: 'hangup', drain: true }],
  ],
  twilio: [
    [`{"event":"media","streamSid":"MZ1","media":{"payload":"${B64}"}}`, sound()],
    ['{"event":"mark","streamSid":"MZ1","mark":{"name":"m1"}}', { type: 'mark', name: 'm1' }],
    ['{"event":"clear","streamSid":"MZ1"}', { type: 'clear' }],
    ['{"event":"hangup"}', { type: 'hangup', drain: true }],
  ],
  plivo: [
    [
      `{"event":"playAudio","media":{"contentType":"audio/x-mulaw","sampleRate":8000,"payload":"${B64}"}}`,
      sound({ rate: 8000, format: 'mulaw' }),
    ],
    [
      `{"event":"playAudio","media":{"contentType":"audio/x-l16","sampleRate":"16000","payload":"${B64}"}}`,
      sound({ rate: 16_000, format: 'linear16' }),
    ],
    [
      `{"event":"playAudio","media":{"contentType":"audio/x-l16;rate=8000","payload":"${B64}"}}`,
      sound({ rate: 8000, format: 'linear16' }),
    ],
    [
      `{"event":"playAudio","media":{"contentType":"audio/x-mulaw","payload":"${B64}"}}`,
      sound({ rate: 8000, format: 'mulaw' }),
    ],
    [`{"event":"playAudio","media":{"payload":"${B64}"}}`, sound()],
    [
      `{"event":"playAudio","media":{"contentType":"wav","sampleRate":"16000","payload":"${B64}"}}`,
      sound({ rate: 16_000 }),
    ],
    ['{"event":"checkpoint","streamId":"x","name":"m1"}', { type: 'mark', name: 'm1' }],
    ['{"event":"clearAudio","streamId":"x"}', { type: 'clear' }],
    ['{"event":"sendDTMF","dtmf":"123#"}', { type: 'dtmf', keys: '123#' }],
  ],
  vobiz: [['{"event":"stop","streamId":"x"}', { type: 'hangup', drain: true }]],
  exotel: [
    [`{"event":"media","stream_sid":"x","media":{"chunk":1,"payload":"${B64}"}}`, sound()],
    ['{"event":"mark","stream_sid":"x","mark":{"name":"m1"}}', { type: 'mark', name: 'm1' }],
    ['{"event":"clear","stream_sid":"x"}', { type: 'clear' }],
  ],
  telnyx: [
    [`{"event":"media","media":{"payload":"${B64}"}}`, sound()],
    ['{"event":"mark","mark":{"name":"m1"}}', { type: 'mark', name: 'm1' }],
    ['{"event":"clear"}', { type: 'clear' }],
  ],
  vonage: [
    ['{"action":"clear"}', { type: 'clear' }],
    ['{"event":"hangup"}', { type: 'hangup', drain: true }],
  ],
  jambonz: [
    [
      `{"type":"playAudio","data":{"audioContent":"${B64}","audioContentType":"raw","sampleRate":8000,"id":"p1"}}`,
      sound({ rate: 8000, id: 'p1', replaces: true }),
    ],
    [`{"type":"playAudio","data":{"audioContent":"${B64}","queuePlay":true}}`, sound()],
    ['{"type":"killAudio"}', { type: 'clear' }],
    ['{"type":"mark","data":{"name":"m1"}}', { type: 'mark', name: 'm1' }],
    ['{"type":"clearMarks"}', { type: 'forget_marks' }],
    ['{"type":"disconnect"}', { type: 'hangup', drain: false }],
  ],
  chan_websocket: [
    ['ANSWER', { type: 'nothing' }],
    ['HANGUP', { type: 'hangup', drain: false }],
    ['FLUSH_MEDIA', { type: 'clear' }],
    ['START_MEDIA_BUFFERING', { type: 'nothing' }],
  ],
  chan_websocket_json: [
    ['{"command":"ANSWER"}', { type: 'nothing' }],
    ['{"command":"HANGUP"}', { type: 'hangup', drain: false }],
    ['{"command":"FLUSH_MEDIA"}', { type: 'clear' }],
  ],
}

t.test('messages of bots are parsed', async (t) => {
  for (const [type, rows] of Object.entries(READS)) {
    const dialect = open(type as BotType)
    const texts = new BotTextReader(dialect)
    for (const [line, wanted] of rows) {
      t.strictSame(dialect.readText(line), wanted, `${type}: ${line}`)
      // Audio of this length is decoded before the rest is read.
      const long = line.replaceAll(B64, LONG.toString('base64'))
      const audio = long === line ? {} : { audio: LONG }
      t.strictSame(texts.read(Buffer.from(long)), { ...(wanted as BotCommand), ...audio }, `${type}: ${long}`)
    }
    for (const [line, code] of [
      ['', 'bad_json'],
      ['{"event":"media"', 'bad_json'],
      ['[1,2]', 'bad_json'],
      ['null', 'bad_json'],
      ['"media"', 'bad_json'],
      ['{"event":"surprise"}', 'bad_frame'],
      ['{}', 'bad_frame'],
      ['{"event":"dtmf","digits":"xyz"}', 'bad_frame'],
      ['{"event":"dtmf","digits":"1","durationMs":39}', 'bad_frame'],
      ['{"event":"dtmf","digits":"1","durationMs":1001}', 'bad_frame'],
      ['{"event":"resume","token":"a b"}', 'bad_frame'],
      ['{"event":"resume","token":7}', 'bad_frame'],
      [`{"event":"resume","token":"${'x'.repeat(257)}"}`, 'bad_frame'],
      ['{"event":"dtmf","digits":"1","durationMs":"long"}', 'bad_frame'],
      ['{"event":"dtmf","digits":"1","gapMs":59}', 'bad_frame'],
      ['{"event":"dtmf","digits":"1","gapMs":2001}', 'bad_frame'],
    ] as const) {
      t.match(dialect.readText(line), { type: 'fault', code }, `${type}: ${line}`)
    }
    t.match(
      dialect.readText('{"event":"transfer","transfer":{"id":"t1"}}'),
      { type: 'transfer' },
      `${type}: transfer`,
    )
    const status = json(dialect.transfer({ id: 't1', status: 'rejected', code: 'not_supported' }))
    t.match(status, { event: 'transfer', transfer: { id: 't1', status: 'rejected', code: 'not_supported' } })
  }
  t.match(
    open('plivo').readText(`{"event":"playAudio","media":{"contentType":"audio/mpeg","payload":"${B64}"}}`),
    { type: 'fault', code: 'bad_audio', message: 'contentType audio/mpeg is not supported' },
  )
  const native = open('static')
  t.match(native.readText('{"event":"media","media":{}}'), { type: 'fault', code: 'bad_frame' })
  t.match(native.readText('{"event":"media","media":{"payload":"***"}}'), {
    type: 'fault',
    code: 'bad_audio',
  })
})

t.test('base64 as bots write it, and invalid base64', async (t) => {
  const texts = new BotTextReader(open('static'))
  const read = (payload: string) =>
    texts.read(Buffer.from(JSON.stringify({ event: 'media', media: { payload } })))
  for (const length of [0, 1, 2, 3, 47, 48, 49, 160, 161, 20_000]) {
    const audio = Buffer.alloc(length, 0xfb)
    const standard = audio.toString('base64')
    for (const payload of [
      standard,
      standard.replace(/=+$/, ''),
      audio.toString('base64url'),
      standard.replace(/(.{76})/g, '$1\r\n'),
      `${standard}\n`,
    ]) {
      t.strictSame(read(payload), { type: 'play', audio, rate: null, id: null }, JSON.stringify(payload))
    }
  }
  for (const payload of [
    '***',
    'AAAA****',
    'AA*A',
    'A',
    'AAAAA',
    'data:audio/basic;base64,AAAA',
    'AA==AA==',
    'ÿÿÿÿ',
    `${'A'.repeat(100)}*`,
    `${'A'.repeat(100)}=AAA`,
    'A'.repeat(101),
  ]) {
    t.match(read(payload), { type: 'fault', code: 'bad_audio' }, payload)
  }
})

t.test('a field named like that of the audio does not replace the audio', async (t) => {
  const texts = new BotTextReader(open('static'))
  const read = (line: string) => texts.read(Buffer.from(line))
  const other = Buffer.alloc(160, 1).toString('base64')
  t.strictSame(
    read(`{"event":"media","payload":"${other}","media":{"payload":"${B64}"}}`),
    sound(),
    'the audio of the message is that of its media',
  )
  t.match(read(`{"event":"media","payload":"${other}","media":{}}`), { type: 'fault', code: 'bad_frame' })
  t.strictSame(read(`{"event":"clear","payload":"${other}"}`), { type: 'clear' })
  t.match(read(`{"event":"media","media":{"payload":"${other}"}`), { type: 'fault', code: 'bad_json' })
  t.match(read(`{"event":"transfer","id":"t","note":"\\"payload\\":\\"${other}\\""}`), {
    type: 'transfer',
    request: { note: `"payload":"${other}"` },
  })
})

t.test(
  'a message of megabytes is parsed if it is one string, and rejected if it is deeply nested',
  async (t) => {
    const room = 4 * 1024 * 1024
    const thickets = {
      names: () => Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join(','),
      numbers: () => `"a":[${'1,'.repeat(room / 2 - 50)}1]`,
      arrays: () => `"payload":${'['.repeat(room / 2 - 50)}${']'.repeat(room / 2 - 50)}`,
      objects: () => `"payload":${'{"a":'.repeat(room / 6 - 50)}1${'}'.repeat(room / 6 - 50)}`,
    }
    for (const [what, body] of Object.entries(thickets)) {
      const line = `{"event":"notify","action":"notify","type":"x",${body()}}`
      t.ok(line.length > room / 2 && line.length <= room, `${line.length}`)
      for (const type of Object.keys(READS) as (keyof typeof READS)[]) {
        t.match(open(type).readText(line), { type: 'fault', code: 'bad_json' }, `${type}: ${what}`)
      }
    }
    const audio = Buffer.alloc(3 * 1024 * 1024 - 64, 0x7f)
    const line = JSON.stringify({ event: 'media', media: { payload: audio.toString('base64') } })
    const read = open('static').readText(line)
    t.ok(read.type === 'play' && audio.equals(read.audio))
    const note = 'so it is, '.repeat(500)
    t.match(open('static').readText(JSON.stringify({ event: 'transfer', id: 't', note })), {
      type: 'transfer',
    })
    const deep = `{"action":"notify","payload":${'['.repeat(900)}${']'.repeat(900)}}`
    t.match(open('vonage').readText(deep), { type: 'mark' })
  },
)
