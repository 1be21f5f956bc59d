import t from 'tap'
import { AZURE } from '../../../fixtures/vendors/recognition-messages.js'
import type { RecognitionReader } from '../shared/recognition-stream.js'
import { parseMessage } from './messages.js'
import { AzureDialect } from './stt.js'

function dialect(vocabulary: readonly string[] = [], languages: readonly string[] = ['hi-IN']): AzureDialect {
  return new AzureDialect(
    { baseUrl: 'wss://a', apiKey: 'k' },
    { rate: 8000, language: 'hi-IN', languages, model: 'azure-speech', vocabulary },
  )
}

function read(azure: AzureDialect, messages: readonly string[]): unknown[] {
  const told: unknown[] = []
  const reader: RecognitionReader = {
    partial: (text, language = null) => told.push(['partial', text, language]),
    final: (text, _words, language = null) => told.push(['final', text, language]),
    failed: ({ code, retryable }) => told.push([code, retryable]),
  }
  for (const message of messages) {
    const parsed = azure.parse(message)
    if (parsed !== null) azure.read(parsed, reader)
  }
  return told
}

const phrase = (text: string) =>
  `Path: speech.phrase\r\nX-RequestId: 1\r\n\r\n{"RecognitionStatus":"Success","DisplayText":"${text}","Offset":0,"Duration":0}`
const END = 'Path: turn.end\r\nX-RequestId: 1\r\n\r\n'

t.test(
  'an utterance is a turn: the context, the header of a WAV file, audio, an empty message',
  async (t) => {
    const azure = dialect(['Anjali', 'x'.repeat(101)])
    const [context = '', wave = ''] = azure.utteranceMessages()
    t.match(
      String(context),
      /^Path: speech\.context\r\nX-RequestId: [0-9a-f]{32}\r\nX-Timestamp: \d{4}-\d\d-\d\dT[\d:.]+Z\r\n/,
    )
    t.same(JSON.parse(String(context).split('\r\n\r\n')[1] ?? ''), {
      phraseDetection: { language: 'hi-IN' },
      dgi: { groups: [{ type: 'Generic', items: [{ text: 'Anjali' }] }], bias: 1 },
    })
    const header = Buffer.from(wave as Uint8Array)
    const headLength = header.readUInt16BE(0)
    t.match(
      header.toString('latin1', 2, 2 + headLength),
      /Path: audio\r\n[\s\S]*Content-Type: audio\/x-wav\r\n$/,
    )
    t.equal(header.toString('latin1', 2 + headLength, 6 + headLength), 'RIFF')
    t.equal(header.length - 2 - headLength, 44)
    t.equal(header.readUInt32LE(2 + headLength + 24), 8000)
    const id = /X-RequestId: (\w+)/.exec(String(context))?.[1] ?? 'none'
    const audio = Buffer.from(azure.encode(Int16Array.of(1, 2, 3)))
    t.ok(audio.toString('latin1').includes(`X-RequestId: ${id}`), 'audio belongs to the turn')
    t.same(AZURE.audioOf?.(audio), Buffer.of(1, 0, 2, 0, 3, 0))
    t.equal(azure.busy, false)
    t.equal(AZURE.audioOf?.(Buffer.from(azure.flush()))?.length, 0)
    t.equal(azure.busy, true, 'until the end of the turn')
    t.notMatch(
      String(azure.utteranceMessages()[0]),
      new RegExp(id),
      'the next turn has an identifier of its own',
    )
  },
)

t.test('phrases of a turn are one text', async (t) => {
  const azure = dialect()
  azure.utteranceMessages()
  t.same(read(azure, [phrase('namaste ji')]), [['partial', 'namaste ji', null]])
  azure.flush()
  t.same(read(azure, [...AZURE.final('kaise ho').slice(0, -1), END]), [
    ['final', 'namaste ji kaise ho', null],
  ])
  azure.utteranceMessages()
  azure.flush()
  t.same(read(azure, AZURE.final('')), [['final', '', null]], 'no words')
})

t.test('a turn that the vendor ends while the caller speaks is begun again', async (t) => {
  const azure = dialect()
  azure.utteranceMessages()
  t.same(read(azure, [phrase('namaste'), END]), [
    ['partial', 'namaste', null],
    ['vendor_failed', true],
  ])
})

t.test('failures', async (t) => {
  for (const [status, ...failure] of [
    ['Error', 'vendor_failed', true],
    ['TooManyRequests', 'vendor_rate_limited', true],
    ['BadRequest', 'vendor_rejected', false],
    ['Forbidden', 'vendor_rejected', false],
  ] as const) {
    const message = `Path: speech.phrase\r\n\r\n{"RecognitionStatus":"${status}"}`
    t.same(read(dialect(), [message]), [failure], status)
  }
  const azure = dialect()
  t.match(azure.classify(1007, 'Quota exceeded.'), { code: 'vendor_rate_limited' })
  t.match(azure.classify(1007, 'Invalid language'), { code: 'vendor_rejected' })
  t.match(azure.classify(1000, 'Exceeded maximum websocket connection idle duration'), { retryable: true })
})

t.test('four languages at most, and the one that is spoken', async (t) => {
  const azure = dialect([], ['hi-IN', 'en-IN', 'ta-IN', 'te-IN', 'kn-IN'])
  t.same(azure.capabilities.understoodLanguages, ['hi-IN', 'en-IN', 'ta-IN', 'te-IN'])
  t.equal(new URL(azure.url).searchParams.get('lidEnabled'), 'true')
  azure.utteranceMessages()
  azure.flush()
  t.same(read(azure, AZURE.final('haan')), [['final', 'haan', 'hi-IN']])
})

t.test('messages with other headers, without a body, and none', async (t) => {
  t.same(parseMessage('X-RequestId:1\r\nPath:turn.end\r\n\r\n'), { path: 'turn.end', body: {} })
  t.same(parseMessage('Path: speech.phrase\n\nbody'), { path: 'speech.phrase', body: {} })
  for (const text of ['', '{}', 'Pathless: 1\r\n\r\n{}']) t.equal(parseMessage(text), null, text)
})
