import t from 'tap'
import { asksForNoCalls } from './opt-out-request.js'

t.test('wishes for no more calls in eleven languages, in native and Latin letters', async (t) => {
  const wishes = [
    'Please do not call me again.',
    "I am busy, don't call me anymore",
    'Stop calling me!',
    'Remove my number from your list.',
    'Put me on the do not call list',
    'I don’t want any more calls from you',
    'मुझे दोबारा कॉल मत करना।',
    'कृपया मेरा नंबर हटा दीजिए',
    'aage se phone mat karna',
    'আমাকে আর ফোন করবেন না।',
    'amake ar call korben na',
    'இனிமேல் எனக்கு கால் பண்ணாதீங்க',
    'inimel call panna vendam',
    'నాకు మళ్ళీ ఫోన్ చేయకండి',
    'malli call cheyoddu',
    'ನನಗೆ ಮತ್ತೆ ಕಾಲ್ ಮಾಡಬೇಡಿ',
    'innu mele phone madabedi',
    'ഇനി എന്നെ വിളിക്കരുത്',
    'ini enne vilikkanda',
    'मला परत फोन करू नका',
    'parat call karu naka',
    'મને ફરીથી ફોન કરશો નહીં',
    'have pachi call na karsho',
    'ਮੈਨੂੰ ਦੁਬਾਰਾ ਫੋਨ ਨਾ ਕਰੋ ਜੀ',
    'dubara call na karo ji',
    'ମୋତେ ଆଉ ଫୋନ୍ କରନ୍ତୁ ନାହିଁ',
    'mote aau call karantu nahi',
    // Invisible joiners, as some recognisers write them.
    'ನನಗೆ ಮತ್ತೆ ಕಾಲ್\u200C ಮಾಡಬೇಡಿ',
    'నాకు ఫోన్\u200C చేయకండి',
    'ഇനി ഫോണ\u0D4D\u200D ചെയ്യരുത്',
    // Polite words at the end.
    'I asked you not to call me again sir',
    "Don't call me again okay",
    'मुझे दोबारा फोन मत करो भाई',
    'mujhe call mat karo bhai please',
    'আমাকে ফোন করবেন না দাদা',
    'மறுபடி கால் பண்ணாதீங்க சார்',
    'malli phone cheyyakandi andi',
    'ನನಗೆ ಕಾಲ್ ಮಾಡಬೇಡಿ ಸರ್',
    'ഇനി വിളിക്കരുത് പ്ലീസ്',
    'मला परत फोन करू नका साहेब',
    'મને ફોન કરશો નહીં ભાઈ',
    'ਮੈਨੂੰ ਫੋਨ ਨਾ ਕਰੋ ਵੀਰ ਜੀ',
    'ମୋତେ ଫୋନ କରନ୍ତୁ ନାହିଁ ସାର୍',
  ]
  for (const text of wishes) t.equal(asksForNoCalls(text), true, text)
  for (const again of ['again ', 'please ', 'sir thank you ']) {
    t.equal(asksForNoCalls(`do not call me ${again.repeat(30)}`), true, `${again}thirty times`)
  }
})

t.test('other sentences about calls', async (t) => {
  const others = [
    'Please call me again tomorrow.',
    "Don't call me now, I am driving.",
    'Do not call me today.',
    'Did you call me?',
    'I do not want to stop the service.',
    'He never calls me.',
    'Remove the second item from my order',
    'अभी कॉल मत करो, बाद में करना',
    'abhi phone mat karo',
    'abhi phone mat karo bhai',
    "Don't call me now sir",
    'I would like you to call me please',
    'फोन करना मत भूलना',
    'এখন ফোন করবেন না',
    'இப்போ கால் பண்ணாதீங்க',
    'ఇప్పుడు ఫోన్ చేయకండి',
    'ಈಗ ಕಾಲ್ ಮಾಡಬೇಡಿ',
    'ഇപ്പോൾ വിളിക്കരുത്',
    'आत्ता फोन करू नका',
    'અત્યારે ફોન કરશો નહીં',
    'ਹੁਣੇ ਫੋਨ ਨਾ ਕਰੋ',
    'ଏବେ ଫୋନ୍ କରନ୍ତୁ ନାହିଁ',
    '',
  ]
  for (const text of others) t.equal(asksForNoCalls(text), false, text)
})
