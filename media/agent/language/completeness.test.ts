import t from 'tap'
import { asksForNumber, awaitsKeys, type Openness, openness } from './completeness.js'
import { LANGUAGE_TAGS } from './language-data.js'

const TABLE: readonly (readonly [string, Openness])[] = [
  ['', 'closed'],
  ['I would like to book an appointment.', 'closed'],
  ['Is it open on Sunday?', 'closed'],
  ['Who are you with?', 'closed'],
  ['Yes', 'closed'],
  ['I want to book an appointment and', 'open'],
  ['I want to book an appointment, and.', 'open'],
  ['It was because', 'open'],
  ['Well, um', 'open'],
  ['My name is', 'open'],
  ['I wanted to ask you,', 'open'],
  ['Let me think...', 'open'],
  ['मुझे बुकिंग करनी है और', 'open'],
  ['मुझे बुकिंग करनी है', 'closed'],
  ['मेरा नंबर नौ आठ सात', 'spelling'],
  ['mujhe appointment chahiye lekin', 'open'],
  ['నాకు అపాయింట్‌మెంట్ కావాలి కానీ', 'open'],
  ['எனக்கு வேண்டும் ஆனால்', 'open'],
  ['আমি আসব কিন্তু', 'open'],
  ['My number is 98 76 5', 'spelling'],
  ['98765 43210', 'closed'],
  ['nine eight seven', 'spelling'],
  ['nine eight seven six five four three two one zero', 'closed'],
  ['The code is 4 8 2 9 1 3', 'closed'],
  ['the pin is 4021', 'closed'],
  ['my number is nine eight seven six five four', 'spelling'],
  ['at 5', 'closed'],
  ['anita dot rao at', 'spelling'],
  ['anita at gmail', 'spelling'],
  ['anita at gmail dot com', 'closed'],
  ['write to anita@gmail', 'spelling'],
  // Amounts and times are not spelled.
  ['tomorrow at 5:30', 'closed'],
  ['around 5 30', 'closed'],
  ['it should cost less than 250', 'closed'],
  ['I want 20', 'closed'],
  ['the order number is 48213', 'spelling'],
  ['98765', 'spelling'],
  ['my card number is 4111 1111 1111', 'spelling'],
  ['my card number is 4111 1111 1111 1111', 'closed'],
  ['my card number is 3782 822463 10005', 'closed'],
  ['my card number is 4222 2222 2222 2', 'closed'],
  ['my card number is 6304 0000 0000 0000 000', 'closed'],
  ['मेरा कार्ड नंबर है 3782 822463 10005', 'closed'],
  ['4111 1111 1111 1111 11', 'closed'],
  ['my aadhaar number is 1234 5678', 'spelling'],
  ['my aadhaar card number is 1234 5678 9012', 'closed'],
  ['my OTP is 48', 'spelling'],
  ['my OTP is 4 8 2 9', 'closed'],
  ['nine eight double', 'spelling'],
  ['nine eight triple seven six five four three two', 'closed'],
  // Letters and addresses.
  ['it is spelled A N I', 'spelling'],
  ['नाम है ए एन आई', 'spelling'],
  ['my email is anita dot', 'spelling'],
  ['मेरा ईमेल है अनीता डॉट', 'spelling'],
  ['so am I', 'closed'],
  // Objects that still follow.
  ['I would like', 'open'],
  ['Could you', 'open'],
  ['tell me.', 'open'],
  ['Thank you', 'closed'],
  ['this is what I need', 'closed'],
  // Every language: the last word requires another one, or not.
  ['मला वेळ हवी आहे पण', 'open'],
  ['मला उद्या वेळ हवी आहे', 'closed'],
  ['माझा नंबर नऊ आठ सात', 'spelling'],
  ['আমার নম্বর নয় আট সাত', 'spelling'],
  ['আমি কাল আসব', 'closed'],
  ['আমি আসব তবে', 'open'],
  ['எனக்கு நாளை வேண்டும்', 'closed'],
  ['என் நம்பர் ஒன்பது எட்டு ஏழு', 'spelling'],
  ['நான் வருவேன் ஏன்னா', 'open'],
  ['నా నంబర్ తొమ్మిది ఎనిమిది', 'spelling'],
  ['నాకు రేపు కావాలి', 'closed'],
  ['నాకు రేపు కావాలి ఎందుకంటే', 'open'],
  ['ನನಗೆ ನಾಳೆ ಬೇಕು', 'closed'],
  ['ನನಗೆ ಬೇಕು ಆದರೆ', 'open'],
  ['ನನ್ನ ನಂಬರ್ ಒಂಬತ್ತು ಎಂಟು ಏಳು', 'spelling'],
  ['എനിക്ക് നാളെ വേണം', 'closed'],
  ['എനിക്ക് വേണം പക്ഷെ', 'open'],
  ['എന്റെ നമ്പർ ഒമ്പത് എട്ട് ഏഴ്', 'spelling'],
  ['મારે કાલે આવવું છે', 'closed'],
  ['મારે આવવું છે પરંતુ', 'open'],
  ['મારો નંબર નવ આઠ સાત', 'spelling'],
  ['ਮੈਨੂੰ ਕੱਲ੍ਹ ਚਾਹੀਦਾ ਹੈ', 'closed'],
  ['ਮੈਨੂੰ ਚਾਹੀਦਾ ਹੈ ਪਰ', 'open'],
  ['ਮੇਰਾ ਨੰਬਰ ਨੌਂ ਅੱਠ ਸੱਤ', 'spelling'],
  ['ମୁଁ କାଲି ଆସିବି', 'closed'],
  ['ମୁଁ ଆସିବି କିନ୍ତୁ', 'open'],
  ['ମୋ ନମ୍ବର ନଅ ଆଠ ସାତ', 'spelling'],
  ['मेरा नंबर नाइन एट सेवन', 'spelling'],
  ['मेरा नंबर ९८७६५ ४३२', 'spelling'],
  ['मेरा नंबर ९८७६५ ४३२१०', 'closed'],
]

t.test('the last words show whether more follows', async (t) => {
  for (const [text, expected] of TABLE) t.equal(openness(text), expected, text)
})

/** Question of the agent, words of the caller, and whether more follows. */
const ANSWERS: readonly (readonly [string, string, Openness])[] = [
  ['May I have your mobile number, please?', '98765', 'spelling'],
  ['May I have your telephone number?', '987 654', 'spelling'],
  ['', 'my telephone number is nine eight seven six five four', 'spelling'],
  ['May I have your mobile number, please?', 'nine eight seven six', 'spelling'],
  ['May I have your mobile number, please?', 'It is 987654', 'spelling'],
  ['May I have your mobile number, please?', '98765 43210', 'closed'],
  ['May I have your mobile number, please?', 'Why do you need it?', 'closed'],
  ['May I have your mobile number, please?', 'Call me at 5 30', 'closed'],
  ['आपका मोबाइल नंबर क्या है?', '९८७६', 'spelling'],
  ['What is your Aadhaar number?', '1234 5678 90', 'spelling'],
  ['What is your Aadhaar card number?', '1234 5678 9012', 'closed'],
  ['आपका आधार कार्ड नंबर क्या है?', '1234 5678 9012', 'closed'],
  ['What is your card number?', '3782 822463 10005', 'closed'],
  ['What is your card number?', '4111 1111 1111', 'spelling'],
  ['Please tell me your 16-digit card number.', '4111 1111 1111 111', 'spelling'],
  ['Please tell me your 19-digit card number.', '6304 0000 0000 0000 00', 'spelling'],
  ['Please tell me the code.', '4829', 'closed'],
  ['What is the OTP for your card?', '4829', 'closed'],
  ['आपके कार्ड का ओटीपी क्या है?', '482913', 'closed'],
  ['Please tell me the OTP for your card.', '482', 'spelling'],
  ['Please tell me your card number and the PIN.', '4111', 'spelling'],
  ['आपके कार्ड का नंबर और पिन क्या है?', '4111', 'spelling'],
  ['Please tell me your 8-digit customer number.', '1234', 'spelling'],
  ['Please tell me your 8 digit customer number.', '1234 5678', 'closed'],
  ['कृपया अपना 8 अंकों का ग्राहक क्रमांक बताइए।', '123456', 'spelling'],
  // Words that name another kind of number count more than the question.
  ['What is your Aadhaar number?', 'the OTP is 4829', 'closed'],
  ['How many people are coming?', '4021', 'closed'],
  ['Is there anything else?', 'I want 20', 'closed'],
]

t.test('a number that the agent asked for is open until it is complete', async (t) => {
  for (const [asked, text, expected] of ANSWERS) t.equal(openness(text, 'en-IN', asked), expected, text)
  t.ok(awaitsKeys('4111', 'Please key in your card number.'))
  t.ok(awaitsKeys('411111111111', 'Please key in your card number.'))
  t.ok(awaitsKeys('12', 'Please key in the 6-digit number.'))
  for (const [keys, asked] of [
    ['1234', 'Please key in the code.'],
    ['123456', 'Please key in the 6-digit number.'],
    ['1234567', 'Please key in the 6-digit number.'],
    ['*', 'Please key in your card number.'],
    ['378282246310005', 'Please key in your card number.'],
    ['6304000000000000000', 'Please key in your card number.'],
    ['1', 'Press 1 for English.'],
    ['1', ''],
  ] as const)
    t.notOk(awaitsKeys(keys, asked), `${keys} ${asked}`)
})

/** Per language: questions for an order number, for a number, for a telephone number, and "my number". */
const NUMBER_QUESTIONS: Readonly<Record<string, readonly [string, string, string, string]>> = {
  'en-IN': [
    'What is your order number?',
    'Tell me your number, please.',
    'What is your mobile number?',
    'my number is',
  ],
  'hi-IN': ['आपका ऑर्डर नंबर क्या है?', 'अपना नंबर बताइए।', 'आपका मोबाइल नंबर क्या है?', 'मेरा नंबर'],
  'bn-IN': ['আপনার অর্ডার নম্বর কত?', 'আপনার নম্বর বলুন।', 'আপনার মোবাইল নম্বর কত?', 'আমার নম্বর'],
  'ta-IN': ['உங்கள் ஆர்டர் எண் என்ன?', 'உங்கள் நம்பர் சொல்லுங்கள்.', 'உங்கள் மொபைல் எண் என்ன?', 'என் எண்'],
  'te-IN': ['మీ ఆర్డర్ నంబర్ ఏమిటి?', 'మీ నంబర్ చెప్పండి.', 'మీ మొబైల్ నంబర్ ఏమిటి?', 'నా నంబర్'],
  'kn-IN': ['ನಿಮ್ಮ ಆರ್ಡರ್ ನಂಬರ್ ಏನು?', 'ನಿಮ್ಮ ನಂಬರ್ ಹೇಳಿ.', 'ನಿಮ್ಮ ಮೊಬೈಲ್ ನಂಬರ್ ಏನು?', 'ನನ್ನ ನಂಬರ್'],
  'ml-IN': ['നിങ്ങളുടെ ഓർഡർ നമ്പർ എന്താണ്?', 'നിങ്ങളുടെ നമ്പർ പറയൂ.', 'നിങ്ങളുടെ മൊബൈൽ നമ്പർ എന്താണ്?', 'എന്റെ നമ്പർ'],
  'mr-IN': ['तुमचा ऑर्डर नंबर काय आहे?', 'तुमचा नंबर सांगा.', 'तुमचा मोबाइल नंबर काय आहे?', 'माझा नंबर'],
  'gu-IN': ['તમારો ઓર્ડર નંબર શું છે?', 'તમારો નંબર કહો.', 'તમારો મોબાઇલ નંબર શું છે?', 'મારો નંબર'],
  'pa-IN': ['ਤੁਹਾਡਾ ਆਰਡਰ ਨੰਬਰ ਕੀ ਹੈ?', 'ਆਪਣਾ ਨੰਬਰ ਦੱਸੋ।', 'ਤੁਹਾਡਾ ਮੋਬਾਈਲ ਨੰਬਰ ਕੀ ਹੈ?', 'ਮੇਰਾ ਨੰਬਰ'],
  'od-IN': ['ଆପଣଙ୍କ ଅର୍ଡର ନମ୍ବର କେତେ?', 'ଆପଣଙ୍କ ନମ୍ବର କୁହନ୍ତୁ।', 'ଆପଣଙ୍କ ମୋବାଇଲ ନମ୍ବର କେତେ?', 'ମୋ ନମ୍ବର'],
}

t.test('only a telephone number has the length of one, in every language', async (t) => {
  t.same(Object.keys(NUMBER_QUESTIONS), LANGUAGE_TAGS)
  for (const [tag, [order, bare, phone, my]] of Object.entries(NUMBER_QUESTIONS)) {
    for (const asked of [order, bare]) {
      t.notOk(asksForNumber(asked), asked)
      t.notOk(awaitsKeys('482190', asked), asked)
      t.equal(openness('482190', tag, asked), 'closed', asked)
      t.equal(openness('4 8 2 1 9', tag, asked), 'spelling', 'five digits may go on')
      t.equal(openness(`${my} 482190`, tag, asked), 'closed', `${asked} ${my}`)
    }
    t.ok(asksForNumber(phone), phone)
    t.ok(awaitsKeys('482190', phone), phone)
    t.equal(openness('482190', tag, phone), 'spelling', phone)
    t.equal(openness(`${my} 482190`, tag, phone), 'spelling', `${phone} ${my}`)
    t.equal(openness('98765 43210', tag, phone), 'closed', phone)
    t.equal(openness(`${my} 482190`, tag), 'spelling', `${my}, without a question`)
    t.equal(openness(`${my} 48213`, tag, order), 'spelling', `${my}: a number that may go on`)
  }
})
