"""Rules of findings about batches and labels."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP071",
        title="batch confounded with label",
        severity="warning",
        meaning="A label occurs in few batches only, or many batches have rows of one side only.",
        matters="What separates the label may be what separates those batches. Held-out batches "
        "that confound them in the same way do not show the difference. Labels that share fewer "
        "than ten batches, and means of which they are most, have no interval: it would not cover. "
        "The verdict calls the label inseparable from batches where the AUROC within batches does "
        "not tell it either.",
        remedy="Read the AUROC within batches, which compares rows of one batch only; compare with "
        "controls on the same batches.",
    ),
    Rule(
        code="UP072",
        title="label told by well position",
        severity="warning",
        meaning="The position of the well alone predicts the label on held-out batches.",
        matters="Effects of edges and rows of a plate repeat on every plate: a classifier can use "
        "them instead of biology, and held-out plates do not show it.",
        remedy="Randomise positions, or compare with controls at the same or neighbouring wells.",
    ),
    Rule(
        code="UP073",
        title="wells named twice",
        severity="warning",
        meaning="The same well of the same batch occurs on several rows.",
        matters="Either batches with the same name are different batches (plates are often "
        "numbered anew in each experiment) and folds share them, or rows are repeated.",
        remedy="Name every column that makes a batch, such as experiment and plate; drop rows "
        "that are repeated.",
    ),
    Rule(
        code="UP074",
        title="equal rows in several batches",
        severity="warning",
        meaning="Rows with the same values occur in different batches.",
        matters="Controls that were copied to several batches are in training and held-out rows at "
        "once: the classifier has seen what it is judged on.",
        remedy="Keep one of each, or hold out the batches that share them together.",
    ),
    Rule(
        code="UP075",
        title="label not judged",
        severity="warning",
        meaning="A label has too few rows or batches to train on some and to judge on others.",
        matters="It counts in no table, and means are over the other labels.",
        remedy="Give more batches with that label, or join labels.",
    ),
    Rule(
        code="UP076",
        title="no gain from any condition",
        severity="note",
        meaning="No transform predicts labels on held-out batches better than the embedding as "
        "given, by more than folds differ.",
        matters="Correcting the embedding is not worth its risk for this question.",
        remedy="Use the embedding as given; with more batches a smaller gain could be seen.",
    ),
    Rule(
        code="UP077",
        title="shuffled labels off chance",
        severity="warning",
        meaning="A classifier trained on shuffled labels is further from an AUROC of 0.5 than its "
        "standard error allows.",
        matters="So far does chance reach with so few rows or batches: an AUROC of that size says "
        "nothing. Rows that are repeated in several batches do not show here.",
        remedy="Use more batches, or more rows of the label; average over more folds.",
    ),
    Rule(
        code="UP078",
        title="batches give the label away",
        severity="warning",
        meaning="Labels that were shuffled within each batch are still predicted on held-out "
        "batches.",
        matters="Batches with many perturbed rows look alike: part of the AUROC is the batch and "
        "not the perturbation.",
        remedy="Read the AUROC within batches; hold out what such batches share, such as the day.",
    ),
    Rule(
        code="UP079",
        title="fitted with the held-out batches",
        severity="note",
        meaning="Transforms were fitted to all rows, also those that judge.",
        matters="A new batch would not have been there, so what is shown is not what a new batch "
        "would get. The paper's tables are of this kind. Labels are used by biology only.",
        remedy="Fit to training batches, which is the default.",
    ),
    Rule(
        code="UP080",
        title="mixing and held-out batches disagree",
        severity="note",
        meaning="The condition with the best total of mixing scores predicts labels on held-out "
        "batches worse than another.",
        matters="The total weighs how well batches mix, which an embedding without biology does "
        "best, and is computed on the rows it was fitted to.",
        remedy="Choose by held-out batches; read the parts of the total.",
    ),
    Rule(
        code="UP081",
        title="few batches",
        severity="warning",
        meaning="There are fewer than five batches to hold out.",
        matters="Intervals are over batches: with so few they are wide, and say little.",
        remedy="Add batches before choosing between conditions.",
    ),
    Rule(
        code="UP082",
        title="components carry batch and label",
        severity="note",
        meaning="Some components differ between batches and between labels.",
        matters="Removing them removes biology, keeping them keeps batches: the two are not "
        "separable by components.",
        remedy="Scale each batch by its own controls before, or accept what is left.",
    ),
    Rule(
        code="UP083",
        title="controls shared between correcting and judging",
        severity="note",
        meaning="Half of the controls of each batch correct it, and only the others are judged.",
        matters="A control that its own batch was corrected by looks more alike than a new one "
        "would: judged too, it gives itself away, and AUROCs reach 1 without any biology.",
        remedy="Nothing is needed; with few controls a batch, choose conditions that use none to "
        "judge all of them.",
    ),
    Rule(
        code="UP084",
        title="condition left out",
        severity="warning",
        meaning="A condition could not be fitted to the batches of at least one fold.",
        matters="It is in no table. If every component carries batches and no label is seen in "
        "any, none can be removed without removing all.",
        remedy="Correct offsets of batches first, as the conditions batch-scaled+biology and "
        "control-scaled+biology do.",
    ),
    Rule(
        code="UP085",
        title="names that look alike",
        severity="warning",
        meaning="Labels, batches or values of a factor differ by capitals, spaces, joints or zeros "
        "before a number only, or are words for a missing value.",
        matters="Each counts as a value of its own: controls written another way are judged as a "
        "label, a batch written in two ways may train and be held out at once, and a factor has "
        "more entropy than it should.",
        remedy="Write names in one way, and leave a value that is missing empty.",
    ),
    Rule(
        code="UP086",
        title="near copies in several batches",
        severity="warning",
        meaning="Rows of different batches are far closer to each other than the rows around them "
        "explain.",
        matters="Rows that were copied and rounded or stored again are in training and held-out "
        "rows at once: the classifier has seen what it is judged on. Copies that were scaled are "
        "not found.",
        remedy="Keep one of each, or hold out the batches that share them together.",
    ),
    Rule(
        code="UP089",
        title="nothing can be dropped safely",
        severity="note",
        meaning="It cannot be shown that labels do without the components that batches move, so "
        "all are kept and the rows stay as given.",
        matters="That no label is found in a component is not evidence that there is none. Either "
        "a label may move each component too far, or, with training batches held out in turn, "
        "boosted trees or logistic regression may lose more than 0.005 of AUROC without them "
        "(lower 95 % limit of the mean over labels), or LightGBM is missing, which measures it.",
        remedy="Use the rows as given, or scale each batch by its own controls; more batches with "
        "every label on them can show more.",
    ),
)
