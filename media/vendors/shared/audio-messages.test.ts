import t from 'tap'
import { AudioMessageReader, AudioMessageWriter } from './audio-messages.js'

const pcm = Int16Array.from({ length: 800 }, (_, i) => Math.round(8000 * Math.sin(i)))
const bytes = Buffer.from(pcm.buffer)
const base64 = bytes.toString('base64')

t.test('a written message is the JSON with the audio, shorter ones included', async (t) => {
  const writer = new AudioMessageWriter('{"event":"audio","audio":"', '","rate":8000}')
  for (const length of [800, 3, 0, 400]) {
    const { text } = writer.write(bytes.subarray(200, 200 + 2 * length))
    const { event, audio, rate } = JSON.parse(Buffer.from(text).toString())
    t.strictSame([event, rate], ['audio', 8000])
    t.ok(Buffer.from(audio, 'base64').equals(bytes.subarray(200, 200 + 2 * length)))
  }
})

t.test('audio is read from the bytes, the rest as JSON', async (t) => {
  const reader = new AudioMessageReader('audio')
  for (const text of [
    `{"type":"audio","data":{"audio":"${base64}","codec":"linear16"},"name":"\u0906\u0936\u093e"}`,
    `{"type": "audio", "data": {"codec": "linear16", "audio" : "${base64}"}, "name": "\u0906\u0936\u093e"}`,
  ]) {
    const read = reader.read(Buffer.from(text))
    t.match(read?.message, {
      type: 'audio',
      data: { audio: '', codec: 'linear16' },
      name: '\u0906\u0936\u093e',
    })
    t.ok(read?.audio && Buffer.from(read.audio).equals(bytes))
  }
})

t.test('what is no long base64 string is left in the message', async (t) => {
  const reader = new AudioMessageReader('audio')
  const slashes = base64.replaceAll('/', '\\/')
  for (const [text, value] of [
    [`{"audio":"${slashes}"}`, base64],
    ['{"audio":"AAAA"}', 'AAAA'],
    ['{"audio":null}', null],
    [`{"audio":"${' '.repeat(300)}"}`, ' '.repeat(300)],
    [`{"text":"\\"audio\\": \\"${base64}\\"","audio":""}`, ''],
  ] as const) {
    const read = reader.read(Buffer.from(text))
    t.equal(read?.message.audio, value)
    t.equal(read?.audio, null)
  }
  for (const text of [
    '',
    '[]',
    '"audio"',
    `{"audio":"${base64}`,
    `{"audio":"${base64}"`,
    `"audio":"${base64}"`,
  ]) {
    t.equal(reader.read(Buffer.from(text)), null, text.slice(0, 20))
  }
})
