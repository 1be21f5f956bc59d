import t from 'tap'
import { isBackchannel } from './backchannel.js'

/** Backchannels and ordinary words by language. */
const LISTENING: Readonly<Record<string, readonly string[]>> = {
  'en-IN': ['Mm-hmm.', 'uh-huh', 'Okay okay', 'yeah', 'right', 'I see', 'oh really', 'got it', 'haan okay'],
  'hi-IN': [
    'हाँ',
    'हाँ जी',
    'हाँजी',
    'जी जी',
    'अच्छा अच्छा',
    'ठीक है',
    'हम्म',
    'ओके',
    'ओह अच्छा',
    'haan ji',
    'theek hai',
  ],
  'mr-IN': ['हो', 'होय', 'बरं', 'बरोबर', 'ठीक आहे', 'हं', 'हो हो', 'अच्छा', 'ओके'],
  'bn-IN': ['হ্যাঁ', 'আচ্ছা', 'ঠিক আছে', 'হুম', 'হুঁ', 'জি', 'ওকে', 'ও আচ্ছা'],
  'ta-IN': ['ஆமா', 'ஆமாம்', 'சரி', 'சரிங்க', 'ம்', 'ம்ம்', 'ஓகே', 'அப்படியா', 'aama seri'],
  'te-IN': ['అవును', 'అవునండి', 'సరే', 'సరేనండి', 'ఊ', 'ఓకే', 'అలాగే', 'హా', 'avunu'],
  'kn-IN': ['ಹೌದು', 'ಹೌದಾ', 'ಸರಿ', 'ಹೂಂ', 'ಹಾಂ', 'ಆಯ್ತು', 'ಓಕೆ', 'haudu'],
  'ml-IN': ['അതെ', 'അതേ', 'ശരി', 'ഉം', 'ആണോ', 'ഓക്കേ', 'athe'],
  'gu-IN': ['હા', 'હાં', 'હં', 'બરાબર', 'સારું', 'ઠીક છે', 'ઓકે', 'અચ્છા'],
  'pa-IN': ['ਹਾਂ', 'ਹਾਂ ਜੀ', 'ਹਾਂਜੀ', 'ਅੱਛਾ', 'ਠੀਕ ਹੈ', 'ਚੰਗਾ', 'ਹੂੰ', 'ਓਕੇ'],
  'od-IN': ['ହଁ', 'ହଉ', 'ଆଚ୍ଛା', 'ଠିକ ଅଛି', 'ଠିକ୍ ଅଛି', 'ଓକେ', 'ହୁଁ'],
}

const TAKES: Readonly<Record<string, readonly string[]>> = {
  'en-IN': ['no', 'wait', 'yes but how much', 'stop', 'hello', 'what', 'okay bye', 'right now', 'sorry'],
  'hi-IN': ['नहीं', 'रुकिए', 'एक मिनट', 'कितना', 'हाँ लेकिन', 'सुनिए', 'क्या', 'nahi', 'ruko'],
  'mr-IN': ['नाही', 'थांबा', 'किती', 'काय'],
  'bn-IN': ['না', 'দাঁড়ান', 'কত', 'কী'],
  'ta-IN': ['இல்லை', 'நில்லுங்க', 'எவ்வளவு', 'வேண்டாம்'],
  'te-IN': ['కాదు', 'ఆగండి', 'ఎంత', 'వద్దు'],
  'kn-IN': ['ಇಲ್ಲ', 'ನಿಲ್ಲಿ', 'ಎಷ್ಟು', 'ಬೇಡ'],
  'ml-IN': ['അല്ല', 'നിൽക്കൂ', 'എത്ര', 'വേണ്ട'],
  'gu-IN': ['ના', 'ઊભા રહો', 'કેટલા'],
  'pa-IN': ['ਨਹੀਂ', 'ਰੁਕੋ', 'ਕਿੰਨੇ'],
  'od-IN': ['ନା', 'ରୁହନ୍ତୁ', 'କେତେ'],
}

t.test('backchannels in eleven languages are recognised', async (t) => {
  t.equal(Object.keys(LISTENING).length, 11)
  for (const [language, texts] of Object.entries(LISTENING)) {
    for (const text of texts) t.ok(isBackchannel(text, false, language), `${language}: ${text}`)
  }
})

t.test('refusals, questions and orders are not backchannels', async (t) => {
  for (const [language, texts] of Object.entries(TAKES)) {
    for (const text of texts) t.notOk(isBackchannel(text, false, language), `${language}: ${text}`)
  }
})

t.test('a greeting during the opening is not an interruption', async (t) => {
  for (const text of [
    'Hello?',
    'हैलो',
    'हॅलो',
    'হ্যালো',
    'ஹலோ',
    'హలో',
    'ಹಲೋ',
    'ഹലോ',
    'હેલો',
    'ਹੈਲੋ',
    'ହେଲୋ',
    'नमस्कार जी',
  ]) {
    t.ok(isBackchannel(text, true), text)
    t.notOk(isBackchannel(text, false), text)
  }
})

t.test('backchannels of several languages', async (t) => {
  for (const text of [
    'Mm-hmm.',
    'haan',
    'Haan haan',
    'हाँ',
    'जी',
    'अच्छा',
    'avunu',
    'అవును',
    'ok',
    'ஆமா',
    'ঠিক আছে',
    'Uh-huh.',
  ])
    t.ok(isBackchannel(text, false), text)
  for (const text of ['', 'wait', 'yes but how much', 'नहीं', 'no', 'haan haan haan haan', 'hello'])
    t.notOk(isBackchannel(text, false), text)
  t.ok(isBackchannel('Hello?', true))
})
