import t from 'tap'
import { asksToReturn, personAnswer } from './person-answer.js'

t.test('a person takes a call in eleven languages, in native and Latin letters', async (t) => {
  const answers = [
    'Yes.',
    'Yes please',
    "Okay, I'll take it",
    'Sure, put him through.',
    'Please connect the caller',
    'हाँ जी',
    'हाँ, जोड़ दीजिए',
    'haan ji',
    'ठीक है',
    'হ্যাঁ, ঠিক আছে',
    'ஆமா, கனெக்ட் பண்ணுங்க',
    'సరే అండి',
    'ಹೌದು, ಸರಿ',
    'അതെ, ശരി',
    'हो, चालेल',
    'હા, ઠીક છે',
    'ਹਾਂ ਜੀ, ਠੀਕ ਹੈ',
    'ହଁ, ଠିକ ଅଛି',
  ]
  for (const text of answers) t.equal(personAnswer(text), 'accepts', text)
})

t.test('a person declines', async (t) => {
  const answers = [
    'No.',
    'No, sorry',
    'Not now please',
    "I can't talk at the moment",
    'Okay but I am busy',
    'Call me back later',
    "Don't put him through",
    'नहीं',
    'अभी नहीं',
    'abhi nahi',
    'बाद में कॉल करना',
    'না',
    'வேண்டாம்',
    'ఇప్పుడు కుదరదు',
    'ಬೇಡ',
    'വേണ്ട',
    'नको',
    'ના',
    'ਨਹੀਂ ਜੀ',
    'ନାହିଁ',
  ]
  for (const text of answers) t.equal(personAnswer(text), 'declines', text)
})

t.test('questions, greetings of mailboxes and stories are no answer', async (t) => {
  const others = [
    '',
    'Hello?',
    'Yes?',
    'Who is calling?',
    'What does the caller want',
    'Is it about an order that is late',
    'Sorry, say that again',
    'No idea who that could be',
    'The person you are calling is not reachable, please leave a message after the tone',
    'कौन बोल रहा है',
    'किस बारे में है',
  ]
  for (const text of others) t.equal(personAnswer(text), null, text)
})

t.test('a caller who waits wants the agent back', async (t) => {
  const wishes = [
    'Never mind.',
    'Forget it, I will call tomorrow',
    'Please come back',
    'Can you cancel the transfer?',
    "I don't want to wait",
    "No, don't connect me",
    'रहने दीजिए',
    'rehne do',
    'वापस आइए',
    'ফিরে আসুন',
    'பரவாயில்லை விடுங்க',
    'తిరిగి రండి',
    'ವಾಪಸ್ ಬನ್ನಿ',
    'തിരികെ വരൂ',
    'राहू द्या',
    'રહેવા દો',
    'ਰਹਿਣ ਦਿਓ',
    'ଫେରି ଆସନ୍ତୁ',
  ]
  for (const text of wishes) t.equal(asksToReturn(text), true, text)
  const others = [
    'Hello?',
    'Okay, I am waiting',
    'How long will it take?',
    'Is anybody there',
    'कितना समय लगेगा',
    '',
  ]
  for (const text of others) t.equal(asksToReturn(text), false, text)
})
