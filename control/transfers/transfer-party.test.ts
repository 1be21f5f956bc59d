import t from 'tap'
import { PLAIN_SETTINGS } from '../../media/agent/agent-spec.js'
import { startsByWords } from './transfer-party.js'

t.test('words start the default transfer only when the model has no choice', async (t) => {
  const place = (destinationId: string, when: string) => ({
    destinationId,
    fallbackDestinationId: null,
    when,
  })
  const starts = (...destinations: ReturnType<typeof place>[]) =>
    startsByWords({
      ...PLAIN_SETTINGS.transfer,
      requestPhrases: true,
      defaultDestinationId: 'first',
      destinations,
    })
  t.equal(starts(place('first', 'questions about bills')), true)
  t.equal(starts(place('first', 'bills'), place('second', ' ')), true, 'nothing tells when to take the other')
  t.equal(starts(place('first', ''), place('second', 'complaints')), false, 'the model chooses')
  const off = { ...PLAIN_SETTINGS.transfer, requestPhrases: false, defaultDestinationId: 'first' }
  t.equal(startsByWords({ ...off, destinations: [place('first', '')] }), false)
})
