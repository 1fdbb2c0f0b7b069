; Knossos judges histories of Holdfast: a lock with fences, and a register behind condition().
;
;   clojure.main check.clj FILE ...    exits with 1 unless both models accept each file
;
; edn.ts has the form of a file. Knossos searches by two algorithms, `linear` and `wgl`. Each gets five minutes for
; each history, and all share the memory of the process; a model accepts a history only if both algorithms do.
(ns check
  (:require [clojure.edn :as edn]
            [clojure.java.io :as io]
            [clojure.string :as string]
            [knossos.linear :as linear]
            [knossos.model :refer [inconsistent]]
            [knossos.search :as search]
            [knossos.wgl :as wgl])
  (:import (java.io PushbackReader)
           (java.util.logging Level Logger)
           (knossos.model Model)))

(def limit-ms 300000)

; The highest fence of the record, the fence whose holder believes in its lease, if any, and whether a client has
; received the highest fence. An operation is no map to destructure: the one of `wgl` passes for a sequence, too.
(defrecord Lock [highest holder received?]
  Model
  (step [lock op]
    (let [fence (:value op)
          ended (Lock. highest nil received?)]
      (case (:f op)
        :record (cond
                  (= fence highest) lock
                  (< fence highest) (inconsistent "the record has a higher fence")
                  holder (inconsistent "the former holder still believes in its lease")
                  :else (Lock. fence nil false))
        :acquire (cond
                   holder (inconsistent "the former holder still believes in its lease")
                   (< fence highest) (inconsistent "the record has a higher fence")
                   (and (= fence highest) received?) (inconsistent "a client has received this fence")
                   :else (Lock. fence fence true))
        :held (if (= fence holder) lock (inconsistent "another client, or none, believes"))
        ; A lease can be released and then lost, while the answer to the release is on its way.
        (:release :lost) (cond
                           (= fence holder) ended
                           (<= fence highest) lock
                           :else (inconsistent "there was no such lease"))
        :expire (if (= fence holder) ended (inconsistent "the lease has ended"))))))

; The highest fence that the lock's record is known to have had, and the register's value.
(defrecord Register [highest value]
  Model
  (step [register op]
    (let [input (:value op)]
      (case (:f op)
        :read (if (= input value) register (inconsistent (str "the value is " value)))
        :record (if (< input highest)
                  (inconsistent "the record has a higher fence")
                  (Register. input value))
        :write (let [fence (or (:fence input) highest)
                     {:keys [from to]} input]
                 (cond
                   (< fence highest) (inconsistent "the record has a higher fence")
                   (and to from (not= from value)) (inconsistent (str "it replaces " value))
                   :else (Register. fence (or to value))))))))

(def models {:lock (Lock. 0 nil false), :register (Register. 0 "")})

(defn histories-in [file]
  (with-open [reader (PushbackReader. (io/reader file))]
    (doall (take-while some? (repeatedly #(edn/read {:eof nil} reader))))))

(defn analysis [start {:keys [model history]}]
  (let [search (start (models model) history)]
    (try
      (search/run search {:time-limit limit-ms})
      (catch Throwable problem {:valid? :unknown, :cause problem})
      ; After its limit, a search would go on, and take the time and the memory of the next one.
      (finally (search/abort! search :limit)))))

; Nil if both algorithms accept the history; otherwise why not.
(defn objection [history]
  (let [analyses (mapv #(analysis % history) [linear/start-analysis wgl/start-analysis])
        verdicts (mapv :valid? analyses)]
    (case verdicts
      [true true] nil
      [false false] {:by (name (:model history))
                     :why (str (:key history) ": no order allows " (pr-str (:op (first analyses))))}
      {:by (str (name (:model history)) " (no verdict)")
       :why (apply format "%s: linear says %s %s, wgl says %s %s"
                   (:key history)
                   (mapcat (juxt :valid? :cause) analyses))})))

(defn judge [file]
  (let [from (System/nanoTime)
        histories (histories-in file)
        events (mapcat :history histories)
        objections (vec (keep objection histories))
        what (format "%d operations, %d with an unknown outcome, %.1f s: %s"
                     (count (filter #(= :invoke (:type %)) events))
                     (count (filter #(= :info (:type %)) events))
                     (/ (- (System/nanoTime) from) 1e9)
                     file)]
    (cond
      (empty? events) (println "FAILED  " file "has no operations")
      (empty? objections) (println "accepted" what)
      :else (do
              (println "REFUSED " (str what " by " (string/join ", " (distinct (map :by objections)))))
              (doseq [{:keys [why]} objections] (println "        " why))))
    (and (seq events) (empty? objections))))

; Knossos logs its progress.
(.setLevel (Logger/getLogger "") Level/SEVERE)
(let [verdicts (mapv judge *command-line-args*)]
  ; An algorithm that was aborted can still have threads.
  (flush)
  (System/exit (if (and (seq verdicts) (every? identity verdicts)) 0 1)))
