import t from 'tap'
import { asksForPerson } from './person-request.js'

const REQUESTS = [
  'Can I speak to a real person?',
  'I want to talk to someone',
  'please connect me to your manager',
  'Hello. I need a human being.',
  'Transfer me to customer care please',
  'operator please',
  'मुझे किसी इंसान से बात करनी है',
  'मैनेजर से बात कराइए',
  'mujhe kisi se baat karni hai',
  'customer care se connect karo',
  'আমি একজন মানুষের সাথে কথা বলতে চাই',
  'எனக்கு ஒரு மனிதரிடம் பேச வேண்டும்',
  'నేను ఒక వ్యక్తితో మాట్లాడాలి',
  'ನಾನು ಮ್ಯಾನೇಜರ್ ಜೊತೆ ಮಾತನಾಡಬೇಕು',
  'എനിക്ക് ഒരു മനുഷ്യനോട് സംസാരിക്കണം',
  'मला माणसाशी बोलायचे आहे',
  'મારે કોઈ માણસ સાથે વાત કરવી છે',
  'ਮੈਂ ਮੈਨੇਜਰ ਨਾਲ ਗੱਲ ਕਰਨੀ ਹੈ',
  'ମୁଁ ମଣିଷ ସହ କଥା ହେବାକୁ ଚାହେଁ',
]

const OTHERS = [
  'I do not want to talk to a person',
  "I don't need a manager",
  'I already spoke to a person yesterday',
  'Is the manager of the shop in on Monday?',
  'I want to book an appointment for two persons',
  'मुझे किसी से बात नहीं करनी',
  'मेरी किसी से बात हुई थी',
  'mujhe kisi se baat nahi karni',
  'मुझे अपॉइंटमेंट चाहिए',
  'আমি কারো সাথে কথা বলতে চাই না',
  'எனக்கு மனிதரிடம் பேச வேண்டாம்',
  'मला कोणाशी बोलायचे नाही',
  'Please speak to me in Tamil',
  'Somebody called me from this number',
]

t.test('requests for a person in eleven languages', async (t) => {
  for (const text of REQUESTS) t.ok(asksForPerson(text), text)
})

t.test('other sentences about persons', async (t) => {
  for (const text of OTHERS) t.notOk(asksForPerson(text), text)
})
