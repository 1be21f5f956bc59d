/*
 * Keyword-based intents of the sandbox receptionist. The first matching intent wins, so the order is the
 * priority: ending or changing the call, then topics, then small talk.
 */

export type Intent =
  | 'opt_out'
  | 'voicemail'
  | 'screening'
  | 'person'
  | 'goodbye'
  | 'wait'
  | 'enough'
  | 'price'
  | 'appointment'
  | 'who'
  | 'question'
  | 'more'
  | 'hours'
  | 'time'
  | 'digits'
  | 'no'
  | 'yes'
  | 'thanks'
  | 'greeting'
  | 'unclear'

interface Pattern {
  readonly intent: Intent
  readonly words: RegExp
}

const PATTERNS: readonly Pattern[] = [
  {
    intent: 'opt_out',
    words:
      /\b(do not|don'?t|never|stop|no more) (ever )?(call|calls|calling|ring|contact)|remove (me|my number)|take me off|unsubscribe|(कॉल|फ़ोन|फोन) (मत|न|ना) कर|नंबर हटा|दोबारा (कॉल|फ़ोन|फोन)/iu,
  },
  { intent: 'voicemail', words: /voice ?mail|leave (a|your) message|after the (tone|beep)|संदेश छोड़/iu },
  {
    intent: 'screening',
    words:
      /(say|state|tell me) your name|reason for (your|the) call|why (are you|you are) calling|क्यों (कॉल|फ़ोन|फोन)/iu,
  },
  {
    intent: 'person',
    words:
      /real person|human|\b(speak|talk|connect me) (to|with) (a|an|the|some|your)|manager|representative|इंसान|किसी (से|आदमी|व्यक्ति)|मैनेजर/iu,
  },
  {
    intent: 'goodbye',
    words: /good ?bye|\bbye\b|that'?s all|that is all|talk (to you )?later|अलविदा|फिर मिलेंगे|नमस्कार जी/iu,
  },
  {
    intent: 'wait',
    words: /\bwait\b|hold on|(one|just a|a) (moment|second|minute)|रुक|एक (मिनट|सेकंड|पल)|ठहर/iu,
  },
  { intent: 'enough', words: /\bstop\b|i understand|enough|\bgot it\b|बस|समझ (गया|गई|गए)/iu },
  {
    intent: 'price',
    words: /price|cost|how much|\bfees?\b|charge|expensive|rupees?|कितन|दाम|कीमत|क़ीमत|फीस|फ़ीस|खर्च/iu,
  },
  {
    intent: 'appointment',
    words: /appointment|\bbook|schedule|\bslots?\b|\bvisit\b|अपॉइंटमेंट|अपाइंटमेंट|बुक|समय चाहिए/iu,
  },
  {
    intent: 'who',
    words:
      /who (is|are|am i)|who'?s (this|calling|there)|your name|where are you calling|कौन|आपका नाम|कहाँ से/iu,
  },
  { intent: 'question', words: /(can|may|could) i ask|(have|got) a question|सवाल|पूछ/iu },
  {
    intent: 'more',
    words:
      /tell me|more|explain|details?|about (it|this|what)|what (is|do you|does)|और बता|बताइए|बताओ|जानकारी|विस्तार/iu,
  },
  { intent: 'hours', words: /\bopen\b|\bhours?\b|timings?|address|located|where (is|are)|खुल|पता क्या|कहाँ/iu },
  {
    intent: 'time',
    words:
      /tomorrow|today|morning|afternoon|evening|monday|tuesday|wednesday|thursday|friday|saturday|o'?clock|\b[ap]\.?m\b|कल|आज|सुबह|दोपहर|शाम|बजे/iu,
  },
  { intent: 'digits', words: /[0-9०-९]/u },
  { intent: 'no', words: /^\s*(no\b|nope|nah\b|not (now|really|interested)|नहीं|नही|ना\b)/iu },
  {
    intent: 'yes',
    words:
      /\b(yes|yeah|yep|sure|okay|ok|fine|speaking|sounds good|of course|right|correct)\b|हाँ|हां|जी|ठीक|बिल्कुल|अच्छा/iu,
  },
  { intent: 'thanks', words: /thank|thanks|धन्यवाद|शुक्रिया/iu },
  {
    intent: 'greeting',
    words: /\b(hello|hi|hey|good (morning|afternoon|evening)|namaste)\b|नमस्ते|नमस्कार|हैलो|हेलो/iu,
  },
]

/** Returns the caller's intent; `unclear` when nothing matches. */
export function intentOf(text: string): Intent {
  return PATTERNS.find(({ words }) => words.test(text))?.intent ?? 'unclear'
}

/** Returns the digits in the text as ASCII, including Devanagari digits. */
export function digitsIn(text: string): string {
  return [...text]
    .map((symbol) => {
      const devanagari = '०१२३४५६७८९'.indexOf(symbol)
      return devanagari >= 0 ? String(devanagari) : symbol
    })
    .filter((symbol) => symbol >= '0' && symbol <= '9')
    .join('')
}
